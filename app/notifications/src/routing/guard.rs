use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::{
    Reason,
    notification::{
        Priority,
        provider::{
            Admission, Breaker, BreakerPolicy, BreakerState, BreakerTurn, InFlight, Pass, ProviderName,
        },
    },
};
use claimstream_ports::{Timer, notification::RateLimiter};
use futures::future::{Either, select};

use super::{
    limits::ProviderLimits,
    slots::{Slot, Slots},
    tokens::Tokens,
};

/// What stands before a provider: its circuit breaker, its places and its tokens.
pub(super) struct Guard {
    name: ProviderName,
    pub(super) timer: Arc<dyn Timer>,
    pub(super) timeout: Option<Duration>,
    breaker: Mutex<Breaker>,
    policy: BreakerPolicy,
    in_flight: Mutex<InFlight>,
    slots: Option<Arc<Slots>>,
    tokens: Option<Tokens>,
}

/// Whether a message may go to the provider.
pub(super) enum Admittance<'a> {
    /// It may.
    Granted(Admitted<'a>),
    /// The circuit is open, for so long at least.
    Open(Duration),
    /// There is no room; there may be some after this time.
    NoRoom(Duration, Reason),
}

/// A message on its way to the provider. Dropped before its answer is noted, it gives back what it took.
pub(super) struct Admitted<'a> {
    guard: &'a Guard,
    pass: Option<Pass>,
    /// Its number among those in flight.
    number: u64,
    _slot: Option<Slot>,
}

impl Guard {
    /// How long a message waits for room before it is put off, so that it does not hold up others.
    pub(super) const SLOT_TIMEOUT: Duration = Duration::from_millis(500);

    pub(super) fn new(
        name: ProviderName,
        limits: &ProviderLimits,
        timer: Arc<dyn Timer>,
        limiter: Arc<dyn RateLimiter>,
    ) -> Self {
        Self {
            name,
            timer,
            timeout: limits.timeout,
            breaker: Mutex::new(Breaker::new(limits.breaker)),
            policy: limits.breaker,
            in_flight: Mutex::default(),
            slots: limits.concurrency.map(Slots::new),
            tokens: limits.rate.map(|rate| Tokens::new(rate, limiter)),
        }
    }

    pub(super) fn state(&self) -> BreakerState {
        self.breaker().state()
    }

    /// For how long at least the circuit lets nothing pass, if it is open.
    pub(super) fn open_for(&self) -> Option<Duration> {
        self.breaker().closed_to_messages(self.timer.now())
    }

    /// Whether all of its places are taken.
    pub(super) fn is_full(&self) -> bool {
        self.slots.as_ref().is_some_and(|slots| !slots.has_free())
    }

    /// Why there is no place.
    pub(super) fn full(&self) -> Reason {
        Reason::new(format_args!("{} handles as many messages as it may at a time", self.name))
    }

    /// Waits a moment for room; the circuit is asked first and last.
    pub(super) async fn enter(&self, priority: Priority) -> Admittance<'_> {
        if let Some(left) = self.open_for() {
            return Admittance::Open(left);
        }
        let deadline = self.timer.now() + Self::SLOT_TIMEOUT;
        let slot = match &self.slots {
            None => None,
            Some(slots) => {
                match select(Box::pin(slots.take(priority)), self.timer.sleep(Self::SLOT_TIMEOUT)).await {
                    Either::Left((slot, _)) => Some(slot),
                    Either::Right(_) => return Admittance::NoRoom(Self::SLOT_TIMEOUT, self.full()),
                }
            }
        };
        if let Some(tokens) = &self.tokens
            && !tokens.take(&self.name, &*self.timer, deadline, priority).await
        {
            let reason = Reason::new(format_args!("the rate of {} is used up", self.name));
            return Admittance::NoRoom(tokens.wait_in_line(self.timer.now(), priority), reason);
        }
        match self.breaker().admit(self.timer.now()) {
            Admission::Granted(pass) => {
                let number = self.in_flight().begin(self.timer.now());
                Admittance::Granted(Admitted { guard: self, pass: Some(pass), number, _slot: slot })
            }
            Admission::Refused(left) => Admittance::Open(left),
        }
    }

    /// Whether it is better to ask another provider first.
    pub(super) fn is_hanging(&self) -> bool {
        self.in_flight().is_hanging(self.policy, self.timer.now())
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admitted<'_> {
    /// Notes whether the provider failed the message.
    pub(super) fn note(mut self, failed: bool) {
        let Some(pass) = self.pass.take() else { return };
        let Guard { name, timer, .. } = self.guard;
        self.guard.in_flight().end(self.number, !failed, timer.now());
        let turn = self.guard.breaker().note(pass, failed, timer.now());
        match turn {
            Some(BreakerTurn::Opened(pause)) => {
                tracing::warn!(provider = %name, pause_seconds = pause.as_secs_f64(), "notification.provider.opened");
            }
            Some(BreakerTurn::Closed) => tracing::info!(provider = %name, "notification.provider.closed"),
            None => {}
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.guard.breaker().abandon(pass, self.guard.timer.now());
            self.guard.in_flight().end(self.number, false, self.guard.timer.now());
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Guard");
        all.field("state", &self.state()).field("tokens", &self.tokens).finish_non_exhaustive()
    }
}
