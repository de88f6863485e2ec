//! Ports of sagas: a list of those that were begun, apart from their steps.

use async_trait::async_trait;
use claimstream_domain::saga::{NewSaga, SagaContinued, SagaId, SagaRecord};

use crate::StoreError;

/// Notes sagas in the transactions that write their first rows.
///
/// It decides nothing: where a saga stands is a row of the [`StepLedger`](crate::step::StepLedger), whose key is the saga's
/// scope, its id in lower case with hyphens, and no step.
///
/// Implementors owe: a saga is noted if and only if the transaction commits; a second one of the same scope and id is a
/// `Conflict`.
#[async_trait]
pub trait NoteSagas<Tx: Sync + ?Sized>: Send + Sync {
    /// Notes a saga.
    async fn note(&self, tx: &Tx, saga: &NewSaga) -> Result<(), StoreError>;
}

/// Answers people's questions about sagas.
#[async_trait]
pub trait SagaReports: Send + Sync {
    /// One saga as it stands; `None` if it was never noted.
    async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError>;

    /// The sagas that were asked for, newest first, those after `after` if it is given, at most `limit`.
    async fn sagas_of(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaRecord>, StoreError>;
}

/// Continues sagas that wait, because a person has mended what was in their way.
///
/// Implementors owe: what is done is what [`SagaContinuation`](claimstream_domain::saga::SagaContinuation) decides; a message that it enqueues is
/// durable before the call returns; two calls at the same time enqueue one message; the rows of the saga are not written.
///
/// Callers may rely on: it may be called at any time and any number of times, also while the saga is run. A relay whose pipeline has the saga as its
/// handler does the rest; the call does not wait for it.
#[async_trait]
pub trait ContinueSagas: Send + Sync {
    /// Continues the saga of this scope and id, or says why nothing was done.
    async fn continue_saga(&self, scope: &str, id: SagaId) -> Result<SagaContinued, StoreError>;
}
