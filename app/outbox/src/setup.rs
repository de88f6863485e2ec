use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{ClaimId, Disposition, Found, Next, Owner, Pace, QueueName, Settlement, StreamId};
use claimstream_ports::{
    LockingStrategy, Measured, Settlements, StoreCall, StoreError, StoreErrorKind, Telemetry, Timer, Wakeup,
};
use futures::{
    FutureExt,
    future::{BoxFuture, Either, select},
};

use crate::{
    concurrency::ConcurrencyShare,
    config::RelayConfig,
    in_flight::LeaseTimes,
    report::{Attempted, DeadLetterEvent, Hook},
};

/// What everything that a relay starts stands on: its ports, its settings and its name.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) strategy: Arc<dyn LockingStrategy>,
    pub(crate) settlements: Arc<dyn Settlements>,
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) wakeup: Option<Arc<dyn Wakeup>>,
    pub(crate) telemetry: Option<Arc<dyn Telemetry>>,
    pub(crate) config: RelayConfig,
    pub(crate) owner: Owner,
    /// The function that is called with each dead letter.
    pub(crate) on_dead_letter: Option<Hook>,
    /// Clones count together.
    pub(crate) drawn: Arc<Drawn>,
    /// What the handlers of the relay have of a limit that others share.
    pub(crate) share: Option<ConcurrencyShare>,
}

/// A sleep that may be kept next to what it wakes, because it holds its timer.
pub(crate) fn sleep(timer: &Arc<dyn Timer>, time: Duration) -> BoxFuture<'static, ()> {
    let timer = Arc::clone(timer);
    async move { timer.sleep(time).await }.boxed()
}

/// The next numbers that one instance draws.
pub(crate) struct Drawn {
    /// For a claim call.
    claims: AtomicU64,
    /// For a stream.
    streams: AtomicU64,
    /// For a wait.
    seeds: AtomicU64,
}

impl Default for Drawn {
    fn default() -> Self {
        Self { claims: AtomicU64::new(1), streams: AtomicU64::new(0), seeds: AtomicU64::new(0) }
    }
}

impl Setup {
    /// An id that no claim call has had before.
    pub(crate) fn fresh_claim_id(&self) -> ClaimId {
        ClaimId::new(self.owner.instance(), self.drawn.claims.fetch_add(1, Ordering::Relaxed))
    }

    /// A number that no stream of this instance has had before.
    pub(crate) fn fresh_stream_id(&self) -> StreamId {
        StreamId(self.drawn.streams.fetch_add(1, Ordering::Relaxed))
    }

    /// A settlement that buries, with its event if there is a queue for events. Burying an event has none, whichever relay does it.
    pub(crate) fn recorded(&self, mut settlement: Settlement, attempted: Attempted) -> Settlement {
        let event = DeadLetterEvent::of(&settlement, attempted);
        let Settlement { receipt, disposition } = &mut settlement;
        if let (Some(event), Some(queue), Disposition::Dead { emit, .. }) =
            (event, &self.config.dead_letter_events, disposition)
            && *queue != receipt.queue
            && !attempted.is_event
        {
            match event.message(receipt, queue) {
                Ok(message) => emit.push(message),
                Err(error) => {
                    tracing::error!(message_id = %receipt.message, %error, "message was buried without its event")
                }
            }
        }
        settlement
    }

    /// Says that a message has become a dead letter, once that is durable.
    pub(crate) fn report(&self, event: &DeadLetterEvent) {
        let DeadLetterEvent { message, queue, attempts, class, .. } = event;
        tracing::warn!(%queue, message_id = %message, attempts, %class, "dead letter");
        let Some(hook) = &self.on_dead_letter else { return };
        if catch_unwind(AssertUnwindSafe(|| hook(event))).is_err() {
            tracing::error!(%queue, message_id = %message, "the hook for dead letters panicked");
        }
    }

    /// Notes what happened, if anything counts it.
    pub(crate) fn measure(&self, measured: Measured<'_>) {
        if let Some(telemetry) = &self.telemetry {
            telemetry.record(measured);
        }
    }

    /// Notes that a call to the store, begun at `sent`, has failed.
    pub(crate) fn measure_failure(
        &self,
        queue: &QueueName,
        call: StoreCall,
        sent: Duration,
        error: &StoreError,
    ) {
        self.measure(Measured::Failed { queue, call, kind: error.kind(), took: self.since(sent) });
    }

    /// How long ago the timer's clock showed `then`.
    pub(crate) fn since(&self, then: Duration) -> Duration {
        self.timer.now().saturating_sub(then)
    }

    /// How long to wait after the next failure in a row of a settlement or a renewal: as after a claim that failed, but
    /// at most a tenth of the lease, because the claims in question run out meanwhile.
    pub(crate) fn wait_after_failure(&self, pace: Pace) -> (Pace, Duration) {
        let most = self.config.lease.duration() / 10;
        match self.pace(pace, Found::Failed) {
            (pace, Next::Wait(wait)) => (pace, wait.min(most)),
            (pace, Next::ClaimNow) => (pace, Duration::ZERO),
        }
    }

    /// Waits for the answer to a store's call, at most for `bound`. A call that is given up may still take effect, so the
    /// error is the one of an unknown outcome.
    pub(crate) async fn within<T>(
        &self,
        bound: Duration,
        operation: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match select(pin!(call), self.timer.sleep(bound)).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => Err(self.unanswered(bound, operation)),
        }
    }

    /// What a call ends with that was given up after `bound`.
    pub(crate) fn unanswered(&self, bound: Duration, operation: &'static str) -> StoreError {
        StoreError::new(StoreErrorKind::Unavailable, operation, format!("no answer within {bound:?}"))
    }

    /// What follows a claim that brought `found`.
    pub(crate) fn pace(&self, pace: Pace, found: Found) -> (Pace, Next) {
        // Waits must differ between instances and from one to the next; they need not be unforeseeable.
        let seed = self.owner.instance().0 ^ self.drawn.seeds.fetch_add(1, Ordering::Relaxed).rotate_left(32);
        self.config.pacing.after(pace, found, seed)
    }

    /// The times of a lease that was asked for at `sent`.
    pub(crate) fn times(&self, sent: Duration) -> LeaseTimes {
        LeaseTimes::of(self.config.lease, sent)
    }
}
