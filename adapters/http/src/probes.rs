use std::{fmt, sync::Arc};

use async_trait::async_trait;
use axum::{
    Router, extract,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};

use crate::{json::Json, problem::Problem};

/// The routes by which a supervisor and a metrics server look at a process that delivers; they need no token and show no message.
///
/// | route | answers |
/// |---|---|
/// | `GET /healthz` | 200 as long as the process lives, also while it stops and while its database is away |
/// | `GET /readyz` | 200 if nothing fails, otherwise 503 with everything that does |
/// | `GET /metrics` | the metrics in the text format of Prometheus |
///
/// [`Server::run_probes`](crate::Server::run_probes) serves them.
pub struct Probes {
    readiness: Arc<dyn Readiness>,
    metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

/// Says what keeps a process from its work.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// A sentence for each thing that fails; none if the process is ready. It answers within a few seconds, whatever fails.
    async fn failing(&self) -> Vec<String>;
}

impl Probes {
    /// Probes that ask `readiness`, and show what `metrics` renders.
    pub fn new(readiness: Arc<dyn Readiness>, metrics: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self { readiness, metrics: Arc::new(metrics) }
    }

    pub(crate) fn router(self) -> Router {
        Router::new()
            .route("/healthz", get(async || Json("alive")))
            .route("/readyz", get(readyz))
            .route("/metrics", get(metrics))
            .fallback(async || Problem::no_such_route())
            .method_not_allowed_fallback(async || Problem::method_not_allowed())
            .with_state(Arc::new(self))
    }
}

async fn readyz(probes: extract::State<Arc<Probes>>) -> Response {
    let failing = probes.readiness.failing().await;
    match failing.is_empty() {
        true => Json("ready").into_response(),
        false => Problem::unavailable(failing.join("; ")).into_response(),
    }
}

async fn metrics(probes: extract::State<Arc<Probes>>) -> Response {
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, text)], (probes.metrics)()).into_response()
}

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probes").finish_non_exhaustive()
    }
}
