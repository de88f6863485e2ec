use std::time::Duration;

use claimstream_domain::Timestamp;
use claimstream_steps::timer_event::{DecisionName, FailurePolicy, RowLock, Schedule, SchemeName, Tick};

use crate::sim::Sim;

/// How the timer of a schedule is set, and which new version it gets.
pub(super) struct Plan {
    pub(super) old: Schedule,
    /// The new version's schedule, and from when on processes may run it.
    pub(super) new: Option<(Duration, Schedule)>,
    pub(super) policy: FailurePolicy,
    pub(super) row_lock: RowLock,
}

impl Plan {
    pub(super) const DEADLINE: Duration = Duration::from_secs(15);
    pub(super) const RETRY_EVERY: Duration = Duration::from_secs(2);
    /// What `pipeline_retry` answers for these.
    pub(super) const MAX_ATTEMPTS: u32 = 28;
    pub(super) const FIRST: &str = "close";
    pub(super) const REMOTE: &str = "notify";
    pub(super) const LAST: &str = "archive";
    pub(super) const HOOK: &str = "hook";
    /// The decisions, in order.
    pub(super) const DECISIONS: [&str; 3] = [Self::FIRST, Self::REMOTE, Self::LAST];

    pub(super) fn draw(sim: &Sim) -> Self {
        let old = Schedule::every(Duration::from_secs(20 + sim.below(20))).expect("a schedule");
        let new = sim.chance(400).then(|| {
            let shift = sim.store_now().as_micros() + 1_000_000 * (1 + sim.below(30) as i64);
            let anchor = Timestamp::from_micros(shift).expect("a moment");
            let distance = Duration::from_secs(20 + sim.below(20));
            let schedule = Schedule::every_through(anchor, distance).expect("a schedule");
            (sim.time_below(Duration::from_secs(90)), schedule)
        });
        let policy = [FailurePolicy::Stop, FailurePolicy::Continue][sim.below(2) as usize];
        let row_lock = [RowLock::None, RowLock::Wait, RowLock::NoWait][sim.below(3) as usize];
        Self { old, new, policy, row_lock }
    }

    /// The schedule that is in force in the end.
    pub(super) fn newest(&self) -> &Schedule {
        self.new.as_ref().map_or(&self.old, |(_, schedule)| schedule)
    }

    pub(super) fn scheme() -> SchemeName {
        "bill".parse().expect("a name")
    }

    pub(super) fn decision(name: &str) -> DecisionName {
        name.parse().expect("a name")
    }

    pub(super) fn tick(occurrence: Timestamp) -> Tick {
        Tick { scheme: Self::scheme(), occurrence }
    }
}
