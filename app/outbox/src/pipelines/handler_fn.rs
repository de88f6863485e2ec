use std::{fmt, future::Future};

use async_trait::async_trait;
use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::Handler;

/// Makes a [`Handler`] of a closure.
///
/// The closure gets each message as its own, which costs one copy of it; implement [`Handler`] to borrow it instead.
///
/// ```
/// use claimstream::{Verdict, handler_fn};
///
/// let print = handler_fn(|claimed| async move {
///     println!("{} is here for the {}. time", claimed.message.id, claimed.attempt);
///     Verdict::ack()
/// });
/// ```
pub fn handler_fn<F, V>(handle: F) -> impl Handler + fmt::Debug
where
    F: Fn(Claimed) -> V + Send + Sync,
    V: Future<Output = Verdict> + Send,
{
    HandlerFn(handle)
}

/// A closure as a [`Handler`].
struct HandlerFn<F>(F);

#[async_trait]
impl<F, V> Handler for HandlerFn<F>
where
    F: Fn(Claimed) -> V + Send + Sync,
    V: Future<Output = Verdict> + Send,
{
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        (self.0)(claimed.clone()).await
    }
}

impl<F> fmt::Debug for HandlerFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandlerFn")
    }
}
