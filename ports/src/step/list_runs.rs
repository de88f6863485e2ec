use async_trait::async_trait;
use claimstream_domain::step::{RunFilter, RunPage, RunPlace, StepListed};

use crate::StoreError;

/// Shows people the sagas, TCC transactions and timer events of a database; no decision is made by it.
///
/// Implementors owe: pages that follow each other name each run that matches and does not change meanwhile once, the one whose row has stood
/// still for longest first; no call reads the results of steps; a call looks at a bounded number of rows, so a page may have few runs, or none,
/// and still name a next one.
///
/// A run is open by its row alone. Steps that a saga takes in other databases are listed there, and are no runs.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ListRuns: Send + Sync {
    /// The runs that match and stand behind `after`, at most `limit`.
    async fn runs(
        &self,
        filter: &RunFilter,
        after: Option<RunPlace>,
        limit: u32,
    ) -> Result<RunPage, StoreError>;

    /// The rows of a run by the name of their step, at most `limit`; none if there is no such run. The scope says the kind: one that is no kind
    /// of ours has no rows.
    async fn steps(&self, scope: &str, run: &str, limit: u32) -> Result<Vec<StepListed>, StoreError>;
}
