use std::{ops::Range, sync::Arc};

use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::BatchHandler;
use futures::future::{AbortRegistration, Abortable};
use tracing::Instrument;

use super::{attempt::unwinding, verdict_box::Slot};

/// How one call of a batch handler ended; its verdicts are where it gave them.
pub(crate) enum CallEnded {
    /// It returned.
    Returned,
    /// It panicked; this is the verdict on a message that it was at alone.
    Panicked(Verdict),
    /// It was stopped and dropped before it had ended.
    Stopped,
}

/// Lets `handler` handle those messages, until the registration's handle stops it; the number is that of the call.
pub(crate) async fn batch_call(
    handler: Arc<dyn BatchHandler>,
    messages: Arc<Vec<Claimed>>,
    which: Range<usize>,
    verdicts: Slot,
    stop: AbortRegistration,
) -> (u64, CallEnded) {
    let call = verdicts.call;
    let span = tracing::debug_span!(
        "handle_batch",
        queue = messages.first().map(|claimed| tracing::field::display(&claimed.message.queue)),
        count = which.len(),
    );
    let batch = messages.get(which).unwrap_or_default();
    let handling = unwinding(async { handler.handle_batch(batch, &verdicts).await }).instrument(span);
    let ended = match Abortable::new(handling, stop).await {
        Ok(Ok(())) => CallEnded::Returned,
        Ok(Err(panicked)) => CallEnded::Panicked(panicked),
        Err(_) => CallEnded::Stopped,
    };
    (call, ended)
}
