use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream_ports::Timer;

use crate::error::RelayError;

/// Shows how a [`Pipeline`](crate::pipelines::Pipeline) stands while another task runs it, such as to a health check; made by
/// [`Pipeline::monitor`](crate::pipelines::Pipeline::monitor).
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
    /// It runs, and its newest claim and its newest settlement were answered.
    Running,
    /// It runs, and its newest claims or its newest settlements have failed; if both, this shows what began first. It claims
    /// again after waits that grow up to [`idle_max`](claimstream_domain::Pacing::idle_max), and repeats a settlement as long as the
    /// claim lasts.
    ///
    /// A settlement that fails is shown until another is answered, or until two leases have passed without another failure,
    /// because another relay may have handled the message meanwhile.
    Failing {
        /// How many calls in a row have failed.
        failures: u32,
        /// How long ago the first of them was sent.
        since: Duration,
        /// How the newest one did; it says whether it was a claim or a settlement.
        error: RelayError,
    },
    /// It was asked to stop and is ending in order.
    Stopping,
    /// It has ended, or its future was dropped: nothing is delivered any more.
    Ended,
}

/// What one run notes about itself.
pub(crate) struct Health {
    timer: Arc<dyn Timer>,
    /// For how long a settlement that failed counts if no other follows.
    fades: Duration,
    notes: Mutex<Notes>,
    /// When the run was polled last, in milliseconds of the timer's clock.
    polled: AtomicU64,
}

#[derive(Default)]
struct Notes {
    stage: Stage,
    claims: Option<Trouble>,
    settlements: Option<Trouble>,
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
    /// When the first call that failed was sent, on the timer's clock, and when the newest one failed.
    began: Duration,
    newest: Duration,
    error: RelayError,
}

impl Trouble {
    /// The trouble after another failure, of a call that was sent then. A store that is silent is in trouble for as long as it is asked.
    fn after(earlier: Option<Self>, error: RelayError, sent: Duration, now: Duration) -> Self {
        let (failures, began) = earlier.map_or((0, sent), |earlier| (earlier.failures, earlier.began));
        Self { failures: failures.saturating_add(1), began, newest: now, error }
    }
}

impl PipelineMonitor {
    pub(crate) fn new(health: Arc<Health>) -> Self {
        Self(health)
    }

    /// How long the pipeline has not been polled; `None` if it does not run.
    ///
    /// One that runs is polled when something happens and in any case when it claims again, at the latest after
    /// [`idle_max`](claimstream_domain::Pacing::idle_max), or renews its leases, after a third of a [`Lease`](claimstream_domain::Lease). So a longer
    /// silence says that a handler blocks its thread, or that the runtime stands still.
    pub fn silent_for(&self) -> Option<Duration> {
        let polled = self.0.polled.load(Ordering::Relaxed);
        let runs = matches!(self.0.notes().stage, Stage::Running);
        runs.then(|| Duration::from_millis(millis(self.0.timer.now()).saturating_sub(polled)))
    }

    /// How the pipeline stands now.
    pub fn state(&self) -> PipelineState {
        let now = self.0.timer.now();
        let notes = self.0.notes();
        match notes.stage {
            Stage::NotStarted => PipelineState::NotStarted,
            Stage::Running => match self.0.trouble(&notes, now) {
                None => PipelineState::Running,
                Some(trouble) => PipelineState::Failing {
                    failures: trouble.failures,
                    since: now.saturating_sub(trouble.began),
                    error: trouble.error.clone(),
                },
            },
            Stage::Stopping => PipelineState::Stopping,
            Stage::Ended => PipelineState::Ended,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for PipelineMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PipelineMonitor").field(&self.state()).finish()
    }
}

impl Health {
    /// The claims of a stream last for `lease`.
    pub(crate) fn new(timer: Arc<dyn Timer>, lease: Duration) -> Self {
        Self { timer, fades: lease * 2, notes: Mutex::default(), polled: AtomicU64::new(0) }
    }

    pub(crate) fn started(&self) {
        self.polled();
        self.notes().stage = Stage::Running;
    }

    /// The run is being polled.
    pub(crate) fn polled(&self) {
        self.polled.store(millis(self.timer.now()), Ordering::Relaxed);
    }

    /// The store has answered a claim.
    pub(crate) fn claim_answered(&self) {
        self.notes().claims = None;
    }

    /// A claim that was sent then has failed.
    pub(crate) fn claim_failed(&self, error: RelayError, sent: Duration) {
        let now = self.timer.now();
        let mut notes = self.notes();
        notes.claims = Some(Trouble::after(notes.claims.take(), error, sent, now));
    }

    /// The store has answered a settlement.
    pub(crate) fn settlement_answered(&self) {
        self.notes().settlements = None;
    }

    /// A settlement that was sent then has failed, and not for its own sake.
    pub(crate) fn settlement_failed(&self, error: RelayError, sent: Duration) {
        let now = self.timer.now();
        let mut notes = self.notes();
        let earlier = notes.settlements.take().filter(|earlier| self.lasts(earlier, now));
        notes.settlements = Some(Trouble::after(earlier, error, sent, now));
    }

    /// What the stream is in, if it is in any.
    fn trouble<'a>(&self, notes: &'a Notes, now: Duration) -> Option<&'a Trouble> {
        let settlements = notes.settlements.as_ref().filter(|trouble| self.lasts(trouble, now));
        notes.claims.iter().chain(settlements).min_by_key(|trouble| trouble.began)
    }

    fn lasts(&self, settlements: &Trouble, now: Duration) -> bool {
        now.saturating_sub(settlements.newest) <= self.fades
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
