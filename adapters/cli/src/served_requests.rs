use axum::{
    Router,
    extract::{MatchedPath, Request},
    http::Method,
    middleware::{Next, from_fn},
    response::Response,
};
use claimstream_metrics::HttpRequests;
use claimstream_ports::Timer;
use claimstream_tokio::TokioTimer;

/// Counts and times the requests of a server.
pub(crate) fn counted(router: Router, timer: TokioTimer) -> Router {
    router.layer(from_fn(move |request, next| count(timer, request, next)))
}

async fn count(timer: TokioTimer, request: Request, next: Next) -> Response {
    let (method, route, began) = (method(request.method()), route(&request), timer.now());
    let response = next.run(request).await;
    HttpRequests.record(method, &route, response.status().as_u16(), timer.now() - began);
    response
}

/// The pattern of the path, of which there are few; a path holds ids and recipients.
pub(crate) fn route(request: &Request) -> String {
    let matched = request.extensions().get::<MatchedPath>();
    matched.map_or("unmatched", MatchedPath::as_str).to_owned()
}

/// The method, or `other`: a client may invent any number.
pub(crate) fn method(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];
    known.into_iter().find(|known| method == known).unwrap_or("other")
}
