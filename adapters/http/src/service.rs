use std::{convert::Infallible, fmt, sync::Arc};

use axum::{Extension, Router, middleware};
use claimstream_domain::notification::{InboxKeys, consent::UnsubscribeKeys};
use claimstream_ports::Timer;
use utoipa::{OpenApi, openapi};
use utoipa_axum::router::OpenApiRouter;

use crate::{
    guard,
    inbox::{Inboxes, Listeners},
    limits::Limits,
    problem::Problem,
    receipts::{ReceiptProviders, Receiving},
    resources::{
        description, health, inbox, messages, notifications, preferences, receipts, recipients, segments,
        suppressions, templates,
        unsubscribe::{self, UnsubscribeLinks},
    },
    state::{AppState, Stores},
    token::Tokens,
};

/// The API as a service: its routes, and the writers that take requests in.
///
/// [`Server`](crate::Server) serves it; or nest its [`router`](Self::router) in an axum program of your own.
#[must_use = "its writers end with it"]
pub struct Service {
    state: Arc<AppState>,
    receiving: Arc<Receiving>,
    links: Arc<UnsubscribeLinks>,
    inboxes: Arc<Inboxes>,
    around: Vec<Around>,
}

/// Lays something around all routes.
type Around = Box<dyn Fn(Router) -> Router + Send + Sync>;

impl Service {
    /// A service on these stores that asks each caller for one of `tokens`, and waits and counts time by `timer`. It starts its writers.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn new(stores: Stores, timer: Arc<dyn Timer>, tokens: Tokens, limits: Limits) -> Self {
        Self::of(AppState::new(stores, timer, Some(tokens), limits))
    }

    /// The same service for everybody who reaches it; for trying it out. Where the `Host` of a request is a name other than `localhost`
    /// it answers 403, so that no page of another site reaches it from a browser on this machine.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn without_tokens(stores: Stores, timer: Arc<dyn Timer>, limits: Limits) -> Self {
        Self::of(AppState::new(stores, timer, None, limits))
    }

    fn of(state: AppState) -> Self {
        let inboxes = Arc::new(Inboxes { keys: None, listeners: Listeners::of(state.limits.listeners) });
        Self {
            state: Arc::new(state),
            receiving: Arc::default(),
            links: Arc::default(),
            inboxes,
            around: Vec::new(),
        }
    }

    /// The same that takes the receipts of these providers.
    pub fn with_receipts(self, providers: ReceiptProviders) -> Self {
        Self { receiving: Arc::new(Receiving { providers, ..Receiving::default() }), ..self }
    }

    /// The same that serves the links to unsubscribe which these keys have signed.
    pub fn with_unsubscribe_links(self, keys: UnsubscribeKeys) -> Self {
        Self { links: Arc::new(UnsubscribeLinks(Some(keys))), ..self }
    }

    /// The same that makes passes, by which browsers read the inbox of one user, and signs them with these keys.
    pub fn with_inbox_keys(self, keys: InboxKeys) -> Self {
        let listeners = Listeners::of(self.state.limits.listeners);
        Self { inboxes: Arc::new(Inboxes { keys: Some(keys), listeners }), ..self }
    }

    /// The same with a layer around all of its routes, such as one that counts them; the last one is the outermost. It sees the
    /// [`MatchedPath`](axum::extract::MatchedPath) of a request, and what it writes into `traceparent` is the trace of a notification
    /// that names none.
    pub fn within(mut self, layer: impl Fn(Router) -> Router + Send + Sync + 'static) -> Self {
        self.around.push(Box::new(layer));
        self
    }

    /// Its routes.
    pub fn router(&self) -> Router {
        let (limited, mut api) = limited().split_for_parts();
        let (free, of_health) = health::routes().split_for_parts();
        api.merge(of_health);
        if self.state.tokens.is_none() {
            description::let_tokens_be_left_out(&mut api);
        }
        let admit = middleware::from_fn_with_state(Arc::clone(&self.state), guard::admit);
        let finish = middleware::from_fn_with_state(Arc::clone(&self.state), guard::finish);
        let router = limited
            .route_layer(admit)
            .merge(free)
            .merge(description::routes(&api))
            .fallback(async || Problem::no_such_route())
            .method_not_allowed_fallback(async || Problem::method_not_allowed())
            .layer(Extension(Arc::clone(&self.receiving)))
            .layer(Extension(Arc::clone(&self.links)))
            .layer(Extension(Arc::clone(&self.inboxes)))
            .layer(finish)
            .with_state(Arc::clone(&self.state));
        self.around.iter().fold(router, |router, layer| layer(router))
    }

    /// The description of its routes (OpenAPI 3.1).
    pub fn description() -> openapi::OpenApi {
        limited().merge(health::routes()).into_openapi()
    }

    /// The work in the background, for as long as the routes are served: it gives receipts that were faster than the note of their
    /// delivery to their messages, and new entries of inboxes to those who listen. [`Server`](crate::Server) does it; a program that nests the router runs it itself.
    pub async fn upkeep(&self) -> Infallible {
        let (stores, timer) = (&self.state.stores, &*self.state.timer);
        let receipts = async {
            match self.receiving.providers.is_empty() {
                true => std::future::pending().await,
                false => self.receiving.waiting.look_after(&*stores.receipts, timer).await,
            }
        };
        tokio::select! {
            never = receipts => never,
            never = self.inboxes.listeners.look_after(&*stores.in_app, timer) => never,
        }
    }

    /// From now on `/readyz` says that it stops, and what is under way is still carried out.
    pub fn stop(&self) {
        self.state.stop();
        self.inboxes.listeners.stop();
    }

    /// Takes nothing more in, and ends when everything that was accepted is committed or refused.
    pub async fn finish(&self) {
        self.stop();
        self.state.intake.finish().await;
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.state.limits
    }
}

/// The routes that share the limit of requests at a time, under the head of the description.
fn limited() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::with_openapi(description::Head::openapi())
        .merge(notifications::routes())
        .merge(messages::routes())
        .merge(receipts::routes())
        .merge(unsubscribe::routes())
        .merge(inbox::routes())
        .merge(templates::routes())
        .merge(recipients::routes())
        .merge(preferences::routes())
        .merge(segments::routes())
        .merge(suppressions::routes())
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("limits", self.limits()).finish_non_exhaustive()
    }
}
