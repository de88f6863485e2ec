use std::sync::Arc;

use axum::{
    extract::{MatchedPath, Request, State as Extracted},
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{problem::Problem, state::AppState};

/// Lets so many requests in at a time as the limits allow, and refuses the others at once.
pub(crate) async fn admit(state: Extracted<Arc<AppState>>, request: Request, next: Next) -> Response {
    let Ok(_place) = state.places.try_acquire() else {
        return Problem::unavailable("the server works on as many requests as it may").into_response();
    };
    next.run(request).await
}

/// Gives each answer the headers that keep browsers from guessing, framing and storing, and traces it.
///
/// A trace names the route and never the address, the body or a header.
pub(crate) async fn finish(state: Extracted<Arc<AppState>>, request: Request, next: Next) -> Response {
    let (began, method) = (state.timer.now(), request.method().clone());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let took_seconds = (state.timer.now() - began).as_secs_f64();
    tracing::debug!(%method, route, status = response.status().as_u16(), took_seconds, "request answered");
    response
}

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
];
