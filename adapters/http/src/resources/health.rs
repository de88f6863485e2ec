use std::sync::Arc;

use axum::extract;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{json::Json, problem::Problem, state::AppState};

/// The routes by which a supervisor looks at the process; they need no token.
pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()), responses(
    (status = 200, description = "It lives", content_type = "application/json", body = String, example = "alive"),
))]
async fn healthz() -> Json<&'static str> {
    Json("alive")
}

/// Whether the server takes requests in: it does not stop, and its database answers.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses(
    (status = 200, description = "It is ready", content_type = "application/json", body = String, example = "ready"),
    (status = 503, description = "It is not ready", content_type = "application/problem+json", body = Problem),
))]
async fn readyz(state: extract::State<Arc<AppState>>) -> Result<Json<&'static str>, Problem> {
    state.is_ready().await.map_err(Problem::unavailable)?;
    Ok(Json("ready"))
}
