//! One page a file.

use axum::extract::{Path, rejection::PathRejection};
use uuid::Uuid;

pub(crate) mod audit;
pub(crate) mod dead_groups;
pub(crate) mod dead_letter;
pub(crate) mod dead_list;
pub(crate) mod dead_work;
pub(crate) mod doctor;
pub(crate) mod find;
pub(crate) mod instances;
pub(crate) mod leases;
pub(crate) mod locks;
pub(crate) mod message;
pub(crate) mod overview;
pub(crate) mod pause;
pub(crate) mod queue;
pub(crate) mod release_lease;
pub(crate) mod release_lock;
pub(crate) mod request;
pub(crate) mod request_cancel;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod run_list;
pub(crate) mod saga_continue;
pub(crate) mod sign_in;
pub(crate) mod style;
pub(crate) mod timers;

/// The id in the path of a page.
type UuidPath = Result<Path<Uuid>, PathRejection>;
