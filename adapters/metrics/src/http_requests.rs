use std::time::Duration;

use metrics::{counter, histogram};

/// Counts and times the requests of an HTTP server.
#[derive(Clone, Copy, Default, Debug)]
pub struct HttpRequests;

impl HttpRequests {
    /// Notes a request that was answered with this status. `route` is the pattern of its path and not the path, so that there are few.
    pub fn record(self, method: &'static str, route: &str, status: u16, took: Duration) {
        let (route, status) = (route.to_owned(), status.to_string());
        let labels = [("method", method.to_owned()), ("route", route.clone()), ("status", status)];
        counter!("claimstream_http_requests_total", &labels).increment(1);
        histogram!("claimstream_http_request_seconds", "method" => method, "route" => route).record(took);
    }
}
