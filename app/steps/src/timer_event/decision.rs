use std::{fmt, sync::Arc};

use claimstream_domain::{Reason, timer_event::DecisionName};
use claimstream_ports::StoreError;
use futures::future::BoxFuture;
use uuid::Uuid;

use super::EventInfo;
use claimstream::TransactionError;

/// One of the things that an event does, with a record of its own by which a success is never repeated.
pub(super) struct Decision<Tx> {
    pub(super) name: DecisionName,
    pub(super) effect: DecisionEffect<Tx>,
}

/// How a decision takes effect.
pub(super) enum DecisionEffect<Tx> {
    /// By writing in the transaction that records it: exactly once.
    Local(Arc<Local<Tx>>),
    /// Outside, before it is recorded: again after a crash in between, under the same key.
    Remote(Arc<Remote>),
}

pub(super) type Local<Tx> =
    dyn for<'a> Fn(&'a Tx, &'a EventInfo) -> BoxFuture<'a, Result<(), DecisionError>> + Send + Sync;

pub(super) type Remote =
    dyn for<'a> Fn(&'a EventInfo, Uuid) -> BoxFuture<'a, Result<(), DecisionError>> + Send + Sync;

/// Why a decision has not succeeded; the next tick tries it again.
#[derive(Debug)]
pub enum DecisionError {
    /// The store said so. If it passes by itself, as a deadlock does, the decision's transaction is restarted at once.
    Store(StoreError),
    /// The decision said so.
    Failed(Reason),
}

impl DecisionError {
    /// The decision failed, for the reader of the message's last error.
    pub fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(Reason::new(why))
    }
}

impl fmt::Display for DecisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Failed(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for DecisionError {}

impl From<StoreError> for DecisionError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl TransactionError for DecisionError {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Failed(_) => None,
        }
    }
}
