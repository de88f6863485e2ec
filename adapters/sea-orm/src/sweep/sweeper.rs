use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{Disposition, Retention, Settled, Settlement, StrainLimit};

use crate::{
    database::Database,
    sweep::{lag::LagGauge, leftovers::Leftovers},
};

/// What sweeps go by.
pub(crate) struct Sweeper {
    pub(crate) db: Arc<Database>,
    pub(crate) retention: Retention,
    /// How long steps are kept.
    pub(crate) step_retention: Duration,
    /// How long entries of inboxes are kept; until they are erased if there is none.
    pub(crate) in_app_retention: Option<Duration>,
    pub(crate) limit: StrainLimit,
    pub(crate) lag: Option<LagGauge>,
    pub(crate) leftovers: Leftovers,
    /// The server does not show its history list.
    blind: AtomicBool,
}

impl Sweeper {
    pub(crate) fn new(
        db: Arc<Database>,
        retention: Retention,
        step_retention: Duration,
        in_app_retention: Option<Duration>,
        limit: StrainLimit,
        lag: Option<LagGauge>,
    ) -> Self {
        Self {
            db,
            retention,
            step_retention,
            in_app_retention,
            limit,
            lag,
            leftovers: Leftovers::default(),
            blind: AtomicBool::default(),
        }
    }

    /// Notes which messages are finished, if their bodies are not to be kept; `begun` is when their settlement began.
    pub(crate) fn note(&self, settlements: &[Settlement], settled: &[Settled], begun: Duration) {
        if !self.retention.deletes() {
            return;
        }
        let accepted = settlements.iter().zip(settled).filter(|(_, settled)| **settled == Settled::Accepted);
        let done = accepted.filter(|(one, _)| matches!(one.disposition, Disposition::Done { .. }));
        self.leftovers.note(begun, done.map(|(one, _)| one.receipt.message.uuid()));
    }

    pub(crate) fn is_blind(&self) -> bool {
        self.blind.load(Ordering::Relaxed)
    }

    pub(crate) fn go_blind(&self) {
        self.blind.store(true, Ordering::Relaxed);
    }
}
