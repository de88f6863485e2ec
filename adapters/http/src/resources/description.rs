use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    http::header,
    response::{Html, IntoResponse},
    routing::get,
};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self,
        security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
    },
};

use crate::state::AppState;

/// The head of the API's description; the routes add themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Claimstream",
        description = "Takes notifications in, shows how far they have come, and calls them off. Errors are problems (RFC 9457).",
        license(name = "MIT OR Apache-2.0")
    ),
    modifiers(&Token),
    security(("token" = [])),
    tags(
        (name = "notifications", description = "Hand notifications in and look after them"),
        (name = "receipts", description = "For providers: what became of messages after they had taken them"),
        (name = "inbox", description = "Inboxes of users inside the application"),
        (name = "unsubscribe", description = "For recipients: the pages behind the links in messages"),
        (name = "templates", description = "Edit what notifications say, and publish it"),
        (name = "health", description = "For supervisors; no token is needed")
    )
)]
pub(crate) struct Head;

struct Token;

impl Modify for Token {
    fn modify(&self, api: &mut openapi::OpenApi) {
        let token = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        api.components.get_or_insert_default().add_security_scheme("token", token);
    }
}

/// Says that callers need no token; they may send one, as the clients do that are made of the description.
pub(crate) fn let_tokens_be_left_out(api: &mut openapi::OpenApi) {
    api.security.get_or_insert_default().push(SecurityRequirement::default());
}

/// The routes of the description and of the page to try it; they need no token.
pub(crate) fn routes(api: &openapi::OpenApi) -> Router<Arc<AppState>> {
    let description = Bytes::from(api.to_json().unwrap_or_default());
    let json = [(header::CONTENT_TYPE, "application/json")];
    Router::new()
        .route("/openapi.json", get(async move || (json, description.clone()).into_response()))
        .route("/docs", get(page))
        .route("/docs/page.js", get(async || typed("text/javascript", include_str!("../page/page.js"))))
        .route("/docs/page.css", get(async || typed("text/css", include_str!("../page/page.css"))))
}

/// What the page may load: its own files, and this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

async fn page() -> impl IntoResponse {
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(include_str!("../page/page.html")))
}

fn typed(media_type: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, media_type)], text)
}
