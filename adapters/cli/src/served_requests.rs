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
use opentelemetry::{
    Context, KeyValue, global,
    trace::{FutureExt, SpanKind, Status, TraceContextExt, Tracer},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};

/// Counts and times the requests of a server.
pub(crate) fn counted(router: Router, timer: TokioTimer) -> Router {
    router.layer(from_fn(move |request, next| count(timer, request, next)))
}

/// Gives each request of a server a span, which is a child of its caller's and names itself to the routes.
pub(crate) fn traced(router: Router) -> Router {
    router.layer(from_fn(trace))
}

async fn count(timer: TokioTimer, request: Request, next: Next) -> Response {
    let (method, route, began) = (method(request.method()), route(&request), timer.now());
    let response = next.run(request).await;
    HttpRequests.record(method, &route, response.status().as_u16(), timer.now() - began);
    response
}

/// Source: OpenTelemetry semantic conventions for HTTP spans.
async fn trace(mut request: Request, next: Next) -> Response {
    let (method, route) = (method(request.method()), route(&request));
    let caller = global::get_text_map_propagator(|read| {
        read.extract_with_context(&Context::new(), &HeaderExtractor(request.headers()))
    });
    let tracer = global::tracer("claimstream");
    let span = tracer
        .span_builder(format!("{method} {route}"))
        .with_kind(SpanKind::Server)
        .with_attributes([KeyValue::new("http.request.method", method), KeyValue::new("http.route", route)]);
    let current = caller.with_span(tracer.build_with_context(span, &caller));
    global::get_text_map_propagator(|write| {
        write.inject_context(&current, &mut HeaderInjector(request.headers_mut()));
    });
    let response = next.run(request).with_context(current.clone()).await;
    let (span, status) = (current.span(), response.status());
    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    if status.is_server_error() {
        span.set_attribute(KeyValue::new("error.type", status.as_str().to_owned()));
        span.set_status(Status::error(""));
    }
    span.end();
    response
}

/// The pattern of the path, of which there are few; a path holds ids and recipients.
fn route(request: &Request) -> String {
    let matched = request.extensions().get::<MatchedPath>();
    matched.map_or("unmatched", MatchedPath::as_str).to_owned()
}

/// The method, or `other`: a client may invent any number.
fn method(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];
    known.into_iter().find(|known| method == known).unwrap_or("other")
}
