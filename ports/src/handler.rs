use async_trait::async_trait;
use claimstream_domain::{Claimed, Verdict};

/// What a pipeline does with each message.
///
/// Implementors owe: a verdict, in bounded time. The same message may come again, after a crash or a lost lease, so its
/// effect must bear that. A handler may be dropped at any await when its lease is lost, when it takes longer than the
/// pipeline's `handle_timeout`, or when the pipeline stops.
///
/// Callers may rely on nothing: a panic counts as a failed attempt.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Handler: Send + Sync {
    /// Handles one message.
    async fn handle(&self, claimed: &Claimed) -> Verdict;
}
