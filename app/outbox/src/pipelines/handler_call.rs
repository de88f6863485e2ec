use std::{any::Any, future::Future, ops::Range, panic::AssertUnwindSafe, sync::Arc};

use claimstream_domain::{Claimed, Payload, Reason, Verdict};
use claimstream_ports::{BatchHandler, Handler};
use futures::{
    FutureExt,
    future::{AbortRegistration, Abortable},
};
use tracing::Instrument;

use super::verdict_box::Slot;

/// A call of a handler that has ended.
pub(crate) struct EndedCall {
    /// Its number.
    pub(crate) number: u64,
    pub(crate) end: CallEnd,
    /// What the message of a handler of single messages carries.
    pub(crate) payload: Option<Payload>,
}

/// How a call ended.
pub(crate) enum CallEnd {
    /// The handler returned: a verdict on its message, or none because it handles batches and gives each verdict by itself.
    Returned(Option<Verdict>),
    /// The handler panicked; this is the verdict on a message that it was called with alone.
    Panicked(Verdict),
    /// The call was stopped, and the handler was dropped before it had ended.
    Stopped,
}

/// Lets `handler` handle one message, until the registration's handle stops it.
pub(crate) async fn call_one(
    handler: Arc<dyn Handler>,
    claimed: Claimed,
    number: u64,
    stop: AbortRegistration,
) -> EndedCall {
    let span = tracing::debug_span!(
        "handle",
        queue = %claimed.message.queue,
        message_id = %claimed.message.id,
        attempt = claimed.attempt,
        traceparent = claimed.message.headers.get("traceparent"),
    );
    let handling = async { Some(handler.handle(&claimed).await) };
    let end = until_stopped(handling, span, stop).await;
    EndedCall { number, end, payload: Some(claimed.message.payload) }
}

/// Lets `handler` handle those messages of a batch, until the registration's handle stops it.
pub(crate) async fn call_batch(
    handler: Arc<dyn BatchHandler>,
    messages: Arc<Vec<Claimed>>,
    which: Range<usize>,
    verdicts: Slot,
    stop: AbortRegistration,
) -> EndedCall {
    let number = verdicts.call;
    let span = tracing::debug_span!(
        "handle_batch",
        queue = messages.first().map(|claimed| tracing::field::display(&claimed.message.queue)),
        count = which.len(),
    );
    let batch = messages.get(which).unwrap_or_default();
    let handling = async {
        handler.handle_batch(batch, &verdicts).await;
        None
    };
    let end = until_stopped(handling, span, stop).await;
    EndedCall { number, end, payload: None }
}

/// Catches a panic, also one that happens before the handler has made its future.
async fn until_stopped(
    handling: impl Future<Output = Option<Verdict>>,
    span: tracing::Span,
    stop: AbortRegistration,
) -> CallEnd {
    // Nothing that a handler may leave in disorder is ours.
    let handling = AssertUnwindSafe(handling).catch_unwind().instrument(span);
    match Abortable::new(handling, stop).await {
        Ok(Ok(verdict)) => CallEnd::Returned(verdict),
        Ok(Err(panic)) => CallEnd::Panicked(Verdict::Nack { after: None, reason: reason(&*panic) }),
        Err(_) => CallEnd::Stopped,
    }
}

fn reason(panic: &(dyn Any + Send)) -> Reason {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Reason::new(format_args!("panicked: {}", text.unwrap_or("without a text")))
}
