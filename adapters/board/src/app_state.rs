use std::{sync::Arc, time::Duration};

use claimstream_ports::Timer;
use tokio::sync::Semaphore;

use crate::{
    access::Access, audit::Audit, dead_letter_job::DeadLetterJobs, error_groups::ErrorGroups,
    examination::Examination, history::History, host::Hosts, observation::Observation, pauses::PauseCache,
    previews::Previews, sessions::Sessions, siblings::Siblings, stores::BoardStores,
};

/// What all pages share.
pub(crate) struct AppState {
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) access: Access,
    /// Whether no user may change anything, whatever a token allows.
    pub(crate) read_only: bool,
    pub(crate) hosts: Hosts,
    pub(crate) sessions: Arc<Sessions>,
    /// The boards of other databases at the same address; none of a board that stands alone.
    pub(crate) siblings: Siblings,
    pub(crate) observation: Arc<Observation>,
    pub(crate) history: Arc<History>,
    pub(crate) stores: BoardStores,
    pub(crate) error_groups: ErrorGroups,
    pub(crate) audit: Audit,
    pub(crate) pauses: PauseCache,
    pub(crate) examination: Examination,
    pub(crate) previews: Previews,
    pub(crate) jobs: DeadLetterJobs,
    /// How many pages are written at a time.
    pub(crate) places: Semaphore,
}

impl AppState {
    /// More would only wait for the few connections of the store.
    const AT_A_TIME: usize = 32;

    pub(crate) fn new(
        stores: BoardStores,
        timer: Arc<dyn Timer>,
        access: Access,
        hosts: Hosts,
        read_only: bool,
    ) -> Self {
        let observation = Arc::new(Observation::of(Arc::clone(&stores.observe), Arc::clone(&timer)));
        Self {
            access,
            read_only,
            hosts,
            sessions: Arc::default(),
            siblings: Siblings::default(),
            history: Arc::new(History::of(Arc::clone(&observation), Arc::clone(&timer))),
            observation,
            audit: Audit::of(stores.audit.clone()),
            pauses: PauseCache::of(stores.pauses.clone(), Arc::clone(&timer)),
            examination: Examination::of(stores.check.clone(), Arc::clone(&timer)),
            stores,
            error_groups: ErrorGroups::of(Arc::clone(&timer)),
            previews: Previews::default(),
            jobs: DeadLetterJobs::default(),
            places: Semaphore::new(Self::AT_A_TIME),
            timer,
        }
    }

    /// The time by the timer of the board.
    pub(crate) fn now(&self) -> Duration {
        self.timer.now()
    }
}
