use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::QueueName;
use futures::{Stream, StreamExt, stream::TakeUntil};

use super::{batch::Batch, claims::Claims, linger::Linger};
use crate::error::RelayError;

/// The messages of one queue as a [`Stream`] of batches, without an end; made by [`Claims::batches`].
///
/// Each time it is polled it yields all that has been claimed and may be handed out now, up to [`size`](Self::size). It never waits
/// to fill a batch unless an [`age`](Self::age) is set. For all else it is a [`Claims`] stream: it claims as it is polled, holds no more than
/// [`prefetch`](crate::config::RelayConfig::prefetch) messages, and yields errors between batches.
///
/// ```
/// # use claimstream::{Relay, RelayConfig};
/// # async fn read(relay: Relay, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// use futures::StreamExt;
///
/// let mut batches = relay.claims("orders")?.batches().size(50);
/// let mut until_told = batches.until(shutdown);
/// while let Some(batch) = until_told.next().await {
///     // An error is in the trace already, and the stream goes on after it.
///     let Ok(batch) = batch else { continue };
///     println!("{} orders are paid", batch.len());
///     batch.ack_all().await?;
/// }
/// batches.close().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing unless it is polled"]
pub struct Batches {
    claims: Claims,
    linger: Linger,
}

impl Claims {
    /// The same messages in batches: each holds what was claimed together, and is settled by one call.
    pub fn batches(self) -> Batches {
        let linger = Linger::of(&self.settler().setup.config);
        Batches { claims: self, linger }
    }
}

impl Batches {
    /// The most messages of a batch, at least 1; [`settle_batch`](crate::config::RelayConfig::settle_batch) unless set here, so that one call
    /// settles a batch.
    pub fn size(mut self, messages: u32) -> Self {
        self.linger.size = messages.max(1);
        self
    }

    /// How long messages linger if they are fewer than a batch has at most; not at all unless set here.
    ///
    /// The lease runs meanwhile, so it is cut to a sixth of the lease.
    pub fn age(mut self, age: Duration) -> Self {
        self.linger.age = age.min(self.claims.settler().setup.config.lease.duration() / 6);
        self
    }

    /// The queue that is read.
    pub fn queue(&self) -> &QueueName {
        self.claims.queue()
    }

    /// Gives back the messages that were leased and not yielded, as [`Claims::close`] does.
    ///
    /// # Errors
    ///
    /// As of [`Claims::close`].
    pub async fn close(self) -> Result<u64, RelayError> {
        self.claims.close().await
    }

    /// The batches until `stop` is ready, which then leaves the stream to be [`close`](Self::close)d.
    pub fn until<F: Future>(&mut self, stop: F) -> TakeUntil<&mut Self, Pin<Box<F>>> {
        StreamExt::take_until(self, Box::pin(stop))
    }
}

impl Stream for Batches {
    type Item = Result<Batch, RelayError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { claims, linger } = &mut *self;
        claims.poll_batch(cx, linger, usize::MAX).map(Some)
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("claims", &self.claims).finish_non_exhaustive()
    }
}
