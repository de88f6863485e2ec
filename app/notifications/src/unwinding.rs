use std::{any::Any, panic::AssertUnwindSafe};

use claimstream_domain::Reason;
use futures::FutureExt;

/// Catches a panic of what a user has written, such as a provider, and answers it as the reason why one message is put off.
pub(super) async fn unwinding<T>(work: impl Future<Output = T>) -> Result<T, Reason> {
    // Nothing that it may leave in disorder is ours.
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| reason(&*panic))
}

fn reason(panic: &(dyn Any + Send)) -> Reason {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Reason::new(format_args!("panicked: {}", text.unwrap_or("without a text")))
}
