use std::sync::Arc;

use axum::{
    Extension,
    extract::{self, Path},
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use claimstream_domain::notification::consent::{Unsubscribe, UnsubscribeKeys};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{payload::Payload, problem::Problem, state::AppState};

/// The pages behind the links in messages. They need no token but that of the link.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(ask, unsubscribe))
}

/// The keys of the links, if there are any.
#[derive(Debug, Default)]
pub(crate) struct UnsubscribeLinks(pub(crate) Option<UnsubscribeKeys>);

/// Asks whether to unsubscribe, and changes nothing: programs that look into mails open links.
#[utoipa::path(get, path = "/unsubscribe/{token}", operation_id = "show_unsubscribe_page", tag = "unsubscribe", security(()),
    params(("token" = String, Path, description = "The token of a link in a message")),
    responses(
        (status = 200, description = "A page with a button", content_type = "text/html; charset=utf-8", body = String),
        (status = 404, description = "The link is none of ours", content_type = "text/html; charset=utf-8", body = String),
    ))]
async fn ask(Extension(links): Extension<Arc<UnsubscribeLinks>>, Path(token): Path<String>) -> Response {
    match links.read(&token) {
        Some(asked) => {
            let what = format!("No more messages of the kind “{}” by {}?", asked.category, asked.channel);
            let form = "<form method=\"post\"><button type=\"submit\">Unsubscribe</button></form>";
            page(StatusCode::OK, "Unsubscribe", &format!("<p>{what}</p>{form}"))
        }
        None => unknown(),
    }
}

/// Unsubscribes: the button of the page, and the one click of a mail program (RFC 8058). Doing it again changes nothing.
#[utoipa::path(post, path = "/unsubscribe/{token}", tag = "unsubscribe", security(()),
    params(("token" = String, Path, description = "The token of a link in a message")),
    request_body(content = String, content_type = "application/x-www-form-urlencoded", description = "Anything, such as `List-Unsubscribe=One-Click`"),
    responses(
        (status = 200, description = "Unsubscribed", content_type = "text/html; charset=utf-8", body = String),
        (status = 404, description = "The link is none of ours", content_type = "text/html; charset=utf-8", body = String),
        (status = 408, description = "The body arrives too slowly", content_type = "application/problem+json", body = Problem),
        (status = 413, description = "The body is too long", content_type = "application/problem+json", body = Problem),
        (status = 503, description = "Try again", content_type = "text/html; charset=utf-8", body = String),
    ))]
async fn unsubscribe(
    state: extract::State<Arc<AppState>>,
    Extension(links): Extension<Arc<UnsubscribeLinks>>,
    Path(token): Path<String>,
    _: Payload,
) -> Response {
    let Some(asked) = links.read(&token) else { return unknown() };
    let change = [asked.change()];
    let changed = state.ask(state.stores.preferences.change(&asked.recipient, &change)).await;
    let Unsubscribe { channel, category, .. } = asked;
    match changed {
        Ok(_) => {
            tracing::info!(%channel, %category, "notification.recipient.opted_out");
            let what = format!("There will be no more messages of the kind “{category}” by {channel}.");
            page(StatusCode::OK, "Unsubscribed", &format!("<p>{what}</p>"))
        }
        Err(_) => {
            let what =
                "<p>This did not work. Your settings may not have changed; try it again in a minute.</p>";
            let mut response = page(StatusCode::SERVICE_UNAVAILABLE, "Try again", what);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
            response
        }
    }
}

impl UnsubscribeLinks {
    fn read(&self, token: &str) -> Option<Unsubscribe> {
        self.0.as_ref()?.verify(token).ok()
    }
}

fn unknown() -> Response {
    let what = "<p>This link is not complete, or too old. Please open the link of the message itself.</p>";
    page(StatusCode::NOT_FOUND, "No such link", what)
}

/// What the page may do: send its form to where it came from.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

fn page(status: StatusCode, title: &str, body: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"robots\" content=\"noindex\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title></head>\
         <body><h1>{title}</h1>{body}</body></html>"
    );
    (status, [(header::CONTENT_SECURITY_POLICY, POLICY)], Html(page)).into_response()
}
