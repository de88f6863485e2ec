//! What stands before every page.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};

use claimstream_ports::within;

use crate::{
    access::{Access, Right, User},
    app_state::AppState,
    origin,
    refusal::Refusal,
    request_context::RequestContext,
};

/// The name of the cookie by which the board knows a user who has signed in.
pub(crate) const COOKIE: &str = "claimstream_board";

/// How long a page may take.
const LONGEST: Duration = Duration::from_secs(15);

/// Refuses calls under foreign names and from pages of other sites, and finds the user.
pub(crate) async fn admit(
    State(app): State<Arc<AppState>>,
    context: RequestContext,
    mut request: Request,
    next: Next,
) -> Response {
    app.history.keep();
    let host = host(&request).unwrap_or_default();
    if !app.hosts.allow(&host) {
        return context.refuse(&Refusal::unknown_host());
    }
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
    if is_change && !is_from_here(request.headers(), &host) {
        return context.refuse(&Refusal::foreign());
    }
    if let Some(user) = user(&app, request.headers()) {
        request.extensions_mut().insert(user);
    }
    let Ok(_place) = app.places.try_acquire() else { return context.refuse(&Refusal::busy()) };
    let response = within(&*app.timer, LONGEST, next.run(request)).await;
    response.unwrap_or_else(|| context.refuse(&Refusal::slow()))
}

/// Refuses users who are not signed in: a browser is sent to the page for that.
pub(crate) async fn known(context: RequestContext, request: Request, next: Next) -> Response {
    if request.extensions().get::<User>().is_some() {
        return next.run(request).await;
    }
    let has_token = request.headers().contains_key(header::AUTHORIZATION);
    match *request.method() == Method::GET && !has_token {
        true => Redirect::to(&context.frame().to("/sign-in")).into_response(),
        false => context.refuse(&Refusal::not_signed_in()),
    }
}

/// Refuses a user who may not change anything.
pub(crate) async fn changing(context: RequestContext, request: Request, next: Next) -> Response {
    match (context.app.read_only, context.user().right) {
        (true, _) => context.refuse(&Refusal::read_only()),
        (false, Right::Look) => context.refuse(&Refusal::may_only_look()),
        (false, Right::Change) => next.run(request).await,
    }
}

/// Gives each answer the headers that keep browsers from running, framing, guessing and storing.
pub(crate) async fn finish(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; \
                      base-uri 'none'";

/// `no-referrer` would make browsers send `Origin: null` with our own forms.
const HEADERS: [(HeaderName, &str); 8] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

fn is_from_here(headers: &HeaderMap, host: &str) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    origin::is_ours(text("sec-fetch-site"), text("origin"), host)
}

fn user(app: &AppState, headers: &HeaderMap) -> Option<User> {
    let Access::Users(users) = &app.access else { return Some(allowed(app, Access::anonymous())) };
    let found = match headers.get(header::AUTHORIZATION) {
        Some(given) => bearer(given).and_then(|token| users.identify(token)),
        None => session(headers).and_then(|word| app.sessions.user(word, app.now())),
    };
    found.map(|user| allowed(app, user))
}

/// The user, who may change nothing on a board that is read-only.
fn allowed(app: &AppState, user: User) -> User {
    match app.read_only {
        true => User { right: Right::Look, ..user },
        false => user,
    }
}

fn bearer(given: &HeaderValue) -> Option<&str> {
    let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The word of the session that a browser shows.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, word)| word)
}

fn host(request: &Request) -> Option<String> {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    named.or_else(|| request.uri().authority().map(|authority| authority.as_str())).map(str::to_owned)
}
