use async_trait::async_trait;
use claimstream_domain::{Claimed, Verdict};

/// What a batch pipeline does with messages that were claimed together.
///
/// Implementors owe: a verdict for each message, in bounded time, as soon as it is known. The same message may come again,
/// after a crash or a lost lease, so its effect must bear that. A handler may be dropped at any await when it takes longer than
/// the pipeline's `handle_timeout`, when the pipeline stops, or when no message of its batch is left that it could still settle.
///
/// Callers may rely on nothing: a message without a verdict when the handler returns, panics or is stopped comes again alone, and
/// its attempt fails if that brings none either.
#[async_trait]
pub trait BatchHandler: Send + Sync {
    /// Handles messages that were claimed together; `verdicts` takes the verdict of each.
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts);
}

/// Takes the verdicts on the messages of one batch.
///
/// Implementors owe: the first verdict on a message counts from the moment it is given, whatever becomes of the handler afterwards.
///
/// Callers may rely on it that giving a verdict never blocks and never panics.
#[cfg_attr(feature = "mock", mockall::automock)]
pub trait Verdicts: Send + Sync {
    /// Ends the attempt at the message at this index of the batch. A second verdict on the same message, one on a message
    /// that is no longer ours, and an index beyond the batch change nothing.
    fn give(&self, index: usize, verdict: Verdict);
}
