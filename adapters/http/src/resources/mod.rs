//! The routes, a file for each resource.

pub(crate) mod description;
pub(crate) mod health;
pub(crate) mod inbox;
pub(crate) mod messages;
pub(crate) mod notifications;
pub(crate) mod preferences;
pub(crate) mod receipts;
mod receipts_counted;
pub(crate) mod recipients;
mod refusals;
pub(crate) mod segments;
pub(crate) mod suppressions;
mod template_body;
mod template_call;
pub(crate) mod templates;
pub(crate) mod unsubscribe;

use utoipa::IntoParams;
use uuid::Uuid;

use crate::problem::{Fault, Problem};

/// The notification that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("id"))]
#[allow(dead_code, reason = "it is described and never made")]
pub(crate) struct NotificationId(Uuid);

/// An id as it stands in a path or a query.
fn id(parameter: &'static str, text: &str) -> Result<Uuid, Problem> {
    text.parse().map_err(|_| Problem::invalid(Fault::parameter(parameter, "it must be a UUID")))
}

/// The most entries of a page, as a query asks for them.
fn limit(text: Option<&str>) -> Result<u32, Problem> {
    const USUAL: u32 = 50;
    const MOST: u32 = 500;
    let Some(text) = text else { return Ok(USUAL) };
    let limit = text.parse().ok().filter(|limit| (1..=MOST).contains(limit));
    limit.ok_or_else(|| Problem::invalid(Fault::parameter("limit", format!("it must be 1 to {MOST}"))))
}

/// Refuses a query with a parameter that the route does not have.
fn query<T>(
    read: Result<axum::extract::Query<T>, axum::extract::rejection::QueryRejection>,
) -> Result<T, Problem> {
    match read {
        Ok(axum::extract::Query(query)) => Ok(query),
        Err(refused) => Err(Problem::invalid(Fault::parameter("query", refused.body_text()))),
    }
}
