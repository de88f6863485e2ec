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
    access::{Access, Right, Visitor},
    desk::Desk,
    origin,
    refusal::Refusal,
    visit::Visit,
};

/// The name of the cookie by which the board knows a visitor who has signed in.
pub(crate) const COOKIE: &str = "claimstream_board";

/// How long a page may take.
const LONGEST: Duration = Duration::from_secs(15);

/// Refuses calls under foreign names and from pages of other sites, and finds the visitor.
pub(crate) async fn admit(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    mut request: Request,
    next: Next,
) -> Response {
    desk.history.keep();
    let host = host(&request).unwrap_or_default();
    if !desk.hosts.allow(&host) {
        return visit.refuse(&Refusal::unknown_host());
    }
    let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
    if is_change && !is_from_here(request.headers(), &host) {
        return visit.refuse(&Refusal::foreign());
    }
    if let Some(visitor) = visitor(&desk, request.headers()) {
        request.extensions_mut().insert(visitor);
    }
    let Ok(_place) = desk.places.try_acquire() else { return visit.refuse(&Refusal::busy()) };
    let response = within(&*desk.timer, LONGEST, next.run(request)).await;
    response.unwrap_or_else(|| visit.refuse(&Refusal::slow()))
}

/// Refuses visitors who are not signed in: a browser is sent to the page for that.
pub(crate) async fn known(visit: Visit, request: Request, next: Next) -> Response {
    if request.extensions().get::<Visitor>().is_some() {
        return next.run(request).await;
    }
    let has_token = request.headers().contains_key(header::AUTHORIZATION);
    match *request.method() == Method::GET && !has_token {
        true => Redirect::to(&visit.frame().to("/sign-in")).into_response(),
        false => visit.refuse(&Refusal::not_signed_in()),
    }
}

/// Refuses a visitor who may not change anything.
pub(crate) async fn changing(visit: Visit, request: Request, next: Next) -> Response {
    match (visit.desk.read_only, visit.visitor().right) {
        (true, _) => visit.refuse(&Refusal::read_only()),
        (false, Right::Look) => visit.refuse(&Refusal::may_only_look()),
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

fn visitor(desk: &Desk, headers: &HeaderMap) -> Option<Visitor> {
    let Access::Visitors(visitors) = &desk.access else { return Some(allowed(desk, Access::anonymous())) };
    let found = match headers.get(header::AUTHORIZATION) {
        Some(given) => bearer(given).and_then(|token| visitors.identify(token)),
        None => session(headers).and_then(|word| desk.sessions.visitor(word, desk.now())),
    };
    found.map(|visitor| allowed(desk, visitor))
}

/// The visitor, who may change nothing on a board that is read-only.
fn allowed(desk: &Desk, visitor: Visitor) -> Visitor {
    match desk.read_only {
        true => Visitor { right: Right::Look, ..visitor },
        false => visitor,
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
