use std::{any::Any, future::Future, panic::AssertUnwindSafe, sync::Arc};

use claimstream_domain::{Claimed, Payload, Reason, Verdict};
use claimstream_ports::Handler;
use futures::{
    FutureExt,
    future::{AbortRegistration, Abortable},
};
use tracing::Instrument;

use crate::in_flight::Ticket;

/// How a handler's attempt at one message ended.
pub(crate) enum Ended {
    /// It came to a verdict about a message with this payload.
    Verdict(Verdict, Payload),
    /// It panicked; this is the verdict that it gets.
    Panicked(Verdict, Payload),
    /// It was stopped and dropped before it had ended.
    Stopped,
}

/// Lets `handler` handle one message, until the registration's handle stops it.
pub(crate) async fn attempt(
    handler: Arc<dyn Handler>,
    ticket: Ticket,
    claimed: Claimed,
    stop: AbortRegistration,
) -> (Ticket, Ended) {
    let span = tracing::debug_span!(
        "handle",
        queue = %claimed.message.queue,
        message_id = %claimed.message.id,
        attempt = claimed.attempt,
        traceparent = claimed.message.headers.get("traceparent"),
    );
    let handling = unwinding(async { handler.handle(&claimed).await }).instrument(span);
    let handled = Abortable::new(handling, stop).await;
    let payload = claimed.message.payload;
    let ended = match handled {
        Ok(Ok(verdict)) => Ended::Verdict(verdict, payload),
        Ok(Err(panicked)) => Ended::Panicked(panicked, payload),
        Err(_) => Ended::Stopped,
    };
    (ticket, ended)
}

/// Catches a panic, also one that happens before the handler has made its future, and returns the verdict that it gets as the
/// error.
pub(crate) async fn unwinding<T>(handling: impl Future<Output = T>) -> Result<T, Verdict> {
    // Nothing that a handler may leave in disorder is ours.
    let handled = AssertUnwindSafe(handling).catch_unwind().await;
    handled.map_err(|panic| Verdict::Nack { after: None, reason: reason(&*panic) })
}

fn reason(panic: &(dyn Any + Send)) -> Reason {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Reason::new(format_args!("panicked: {}", text.unwrap_or("without a text")))
}
