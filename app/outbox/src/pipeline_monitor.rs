use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_ports::Timer;

use crate::RelayError;

/// Shows how a [`Pipeline`](crate::Pipeline) stands while somebody else runs it, such as to a health check; made by
/// [`Pipeline::monitor`](crate::Pipeline::monitor).
///
/// Asking costs no call of the store. A clone shows the same pipeline.
#[derive(Clone)]
pub struct PipelineMonitor(Arc<Health>);

/// How a pipeline stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PipelineState {
    /// It has not been polled yet.
    NotStarted,
    /// It runs, and its newest claim was answered.
    Running,
    /// It runs, and its newest claims have failed. It goes on claiming, after waits that grow up to
    /// [`idle_max`](crate::Pacing::idle_max).
    Failing {
        /// How many claims in a row have failed.
        failures: u32,
        /// How long ago the first of them did.
        since: Duration,
        /// How the newest one did.
        error: RelayError,
    },
    /// It was told to stop and is ending in order.
    Stopping,
    /// It has ended, or its future was dropped: nothing is delivered any more.
    Ended,
}

/// What one run notes about itself.
pub(crate) struct Health {
    timer: Arc<dyn Timer>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    stage: Stage,
    trouble: Option<Trouble>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    NotStarted,
    Running,
    Stopping,
    Ended,
}

struct Trouble {
    failures: u32,
    /// When the first claim failed, on the timer's clock.
    began: Duration,
    newest: RelayError,
}

impl PipelineMonitor {
    pub(crate) fn new(health: Arc<Health>) -> Self {
        Self(health)
    }

    /// How the pipeline stands now.
    pub fn state(&self) -> PipelineState {
        let notes = self.0.notes();
        match (notes.stage, &notes.trouble) {
            (Stage::NotStarted, _) => PipelineState::NotStarted,
            (Stage::Running, None) => PipelineState::Running,
            (Stage::Running, Some(trouble)) => PipelineState::Failing {
                failures: trouble.failures,
                since: self.0.timer.now().saturating_sub(trouble.began),
                error: trouble.newest.clone(),
            },
            (Stage::Stopping, _) => PipelineState::Stopping,
            (Stage::Ended, _) => PipelineState::Ended,
        }
    }
}

impl fmt::Debug for PipelineMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PipelineMonitor").field(&self.state()).finish()
    }
}

impl Health {
    pub(crate) fn new(timer: Arc<dyn Timer>) -> Self {
        Self { timer, notes: Mutex::default() }
    }

    pub(crate) fn started(&self) {
        self.notes().stage = Stage::Running;
    }

    /// The store has answered a claim.
    pub(crate) fn answered(&self) {
        self.notes().trouble = None;
    }

    /// A claim has failed.
    pub(crate) fn failed(&self, error: RelayError) {
        let now = self.timer.now();
        let mut notes = self.notes();
        let (failures, began) = notes.trouble.as_ref().map_or((0, now), |t| (t.failures, t.began));
        notes.trouble = Some(Trouble { failures: failures.saturating_add(1), began, newest: error });
    }

    pub(crate) fn stopping(&self) {
        self.notes().stage = Stage::Stopping;
    }

    pub(crate) fn ended(&self) {
        self.notes().stage = Stage::Ended;
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
