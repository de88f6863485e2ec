use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::publishing::OutagePacing;
use claimstream_ports::Timer;

use crate::pulse::Pulse;

/// How the broker of a [`PublishHandler`](crate::PublishHandler) stands, as far as its handler has met it. Clones show the same.
#[derive(Clone)]
pub struct BrokerStanding {
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) timer: Arc<dyn Timer>,
}

impl BrokerStanding {
    /// Whether the broker has confirmed nothing of what it was sent last, or has a place that takes nothing. What it was sent is in
    /// its queue still, or buried.
    pub fn is_away(&self) -> bool {
        self.away_for().is_some() || self.pulse.has_place_away()
    }

    /// Whether it has confirmed nothing for as long as a batch is held, ten seconds.
    pub fn stays_away(&self) -> bool {
        self.away_for().is_some_and(|away| away >= OutagePacing::HOLD)
    }

    fn away_for(&self) -> Option<Duration> {
        self.pulse.away_since().map(|since| self.timer.now().saturating_sub(since))
    }
}

impl fmt::Debug for BrokerStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerStanding").field("away_for", &self.away_for()).finish_non_exhaustive()
    }
}
