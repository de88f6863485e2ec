use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{
    Invalid, Reason,
    notification::{
        NotificationMessage,
        provider::{BreakerState, ProviderName},
    },
};
use claimstream_ports::{
    Timer,
    notification::{ChannelProvider, Delivered, DeliveryError, Prepared, RateLimiter},
};
use futures::future::{Either, select};

use super::{
    attempt::ProviderCall,
    guard::{Admittance, Guard},
    limits::ProviderLimits,
};
use crate::unwinding::unwinding;

/// A provider under a name, with a circuit breaker and limits of its own.
///
/// Channels that share one share its circuit, its places and its rate.
pub struct NamedProvider {
    name: ProviderName,
    provider: Arc<dyn ChannelProvider>,
    guard: Option<Guard>,
    possible_doubles: AtomicU64,
}

/// Where a provider stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderState {
    /// Its name.
    pub name: ProviderName,
    /// Its circuit.
    pub circuit: BreakerState,
    /// Messages that it may have accepted and that another provider was given all the same, since the start.
    pub possible_doubles: u64,
}

/// What asking a provider came to.
pub(super) enum ProviderAnswer {
    /// It was asked, and answered or not.
    Called(ProviderCall, Result<Delivered, DeliveryError>),
    /// Its circuit is open, for so long at least.
    Open(Duration),
    /// It has no room; there may be some after this time.
    NoRoom(Duration, Reason),
}

impl NamedProvider {
    /// A provider with these limits; the tokens of its rate come from `limiter`. Refuses what is no name, and what
    /// [`ProviderLimits::check`] refuses.
    pub fn new(
        name: &str,
        provider: Arc<dyn ChannelProvider>,
        limits: &ProviderLimits,
        timer: Arc<dyn Timer>,
        limiter: Arc<dyn RateLimiter>,
    ) -> Result<Self, Invalid> {
        limits.check()?;
        let name = ProviderName::new(name)?;
        let guard = Some(Guard::new(name.clone(), limits, timer, limiter));
        Ok(Self { name, provider, guard, possible_doubles: AtomicU64::new(0) })
    }

    /// A provider without a circuit breaker and without limits; its answers are not timed. Refuses what is no name.
    pub fn unguarded(name: &str, provider: Arc<dyn ChannelProvider>) -> Result<Self, Invalid> {
        let name = ProviderName::new(name)?;
        Ok(Self { name, provider, guard: None, possible_doubles: AtomicU64::new(0) })
    }

    /// Whether it can deliver a message like this one at all.
    pub(super) fn carries(&self, message: &NotificationMessage) -> bool {
        self.provider.carries(message)
    }

    /// Its name.
    pub fn name(&self) -> &ProviderName {
        &self.name
    }

    /// Where it stands.
    pub fn state(&self) -> ProviderState {
        let circuit = self.guard.as_ref().map_or(BreakerState::Closed, Guard::state);
        let possible_doubles = self.possible_doubles.load(Ordering::Relaxed);
        ProviderState { name: self.name.clone(), circuit, possible_doubles }
    }

    /// Whether it has said nothing to many messages for a while.
    pub(super) fn is_hanging(&self) -> bool {
        self.guard.as_ref().is_some_and(Guard::is_hanging)
    }

    /// Counts a message that it may have accepted and that goes to another provider.
    pub(super) fn count_possible_double(&self) {
        self.possible_doubles.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks it to deliver, if its circuit and its limits allow it. What a message needs of others is fetched before, so that this is not counted
    /// as the provider's.
    pub(super) async fn ask(&self, message: &NotificationMessage) -> ProviderAnswer {
        if let Some(left) = self.guard.as_ref().and_then(Guard::open_for) {
            return ProviderAnswer::Open(left);
        }
        let has_files = !message.content.attachments.is_empty();
        if has_files && let Some(guard) = self.guard.as_ref().filter(|guard| guard.is_full()) {
            // There would be no place once they are here, and it would fetch its files again when it comes back.
            return ProviderAnswer::NoRoom(Guard::SLOT_TIMEOUT, guard.full());
        }
        let began = self.now();
        match self.prepare(message).await {
            Ok(_prepared) => self.ask_prepared(message).await,
            Err(error) => {
                let (took, answered) = (self.now().saturating_sub(began), Err(error));
                ProviderAnswer::Called(ProviderCall::of(&self.name, took, &answered), answered)
            }
        }
    }

    async fn ask_prepared(&self, message: &NotificationMessage) -> ProviderAnswer {
        let Some(guard) = &self.guard else {
            let answered = self.deliver(message).await;
            return ProviderAnswer::Called(ProviderCall::of(&self.name, Duration::ZERO, &answered), answered);
        };
        let admitted = match guard.enter(message.priority).await {
            Admittance::Granted(admitted) => admitted,
            Admittance::Open(left) => return ProviderAnswer::Open(left),
            Admittance::NoRoom(after, reason) => return ProviderAnswer::NoRoom(after, reason),
        };
        let began = guard.timer.now();
        let answered = self.in_time(guard, message).await;
        let call = ProviderCall::of(&self.name, guard.timer.now().saturating_sub(began), &answered);
        // A provider that was not asked has given no answer; dropped, the pass is given back.
        if answered.as_ref().err().is_none_or(DeliveryError::was_asked) {
            admitted.note(answered.as_ref().is_err_and(DeliveryError::speaks_against_provider));
        }
        ProviderAnswer::Called(call, answered)
    }

    async fn in_time(
        &self,
        guard: &Guard,
        message: &NotificationMessage,
    ) -> Result<Delivered, DeliveryError> {
        let Some(timeout) = guard.timeout else { return self.deliver(message).await };
        match select(Box::pin(self.deliver(message)), guard.timer.sleep(timeout)).await {
            Either::Left((answered, _)) => answered,
            Either::Right(_) => {
                Err(DeliveryError::unknown(format!("no answer from {} within {timeout:?}", self.name)))
            }
        }
    }

    /// The time by its timer; a provider without one is not timed.
    fn now(&self) -> Duration {
        self.guard.as_ref().map_or(Duration::ZERO, |guard| guard.timer.now())
    }

    /// A provider that panics before it was asked has not sent the message.
    async fn prepare(&self, message: &NotificationMessage) -> Result<Prepared, DeliveryError> {
        let prepared = unwinding(self.provider.prepare(message)).await;
        prepared.unwrap_or_else(|panicked| Err(DeliveryError::transient(panicked.to_string())))
    }

    /// A provider that panics may have sent the message.
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let answered = unwinding(self.provider.deliver(message)).await;
        answered.unwrap_or_else(|panicked| Err(DeliveryError::unknown(panicked.to_string())))
    }
}

impl fmt::Debug for NamedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("NamedProvider");
        all.field("name", &self.name).field("guard", &self.guard).finish_non_exhaustive()
    }
}
