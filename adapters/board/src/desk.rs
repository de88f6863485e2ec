use tokio::sync::Semaphore;

use crate::{access::Access, host::Hosts, observation::Observation, sessions::Sessions, stores::BoardStores};

/// What all pages share.
pub(crate) struct Desk {
    pub(crate) access: Access,
    /// Whether nobody may change anything, whatever a token allows.
    pub(crate) read_only: bool,
    pub(crate) hosts: Hosts,
    pub(crate) sessions: Sessions,
    pub(crate) observation: Observation,
    /// How many pages are written at a time.
    pub(crate) places: Semaphore,
}

impl Desk {
    /// More would only wait for the few connections of the store.
    const AT_A_TIME: usize = 32;

    pub(crate) fn new(stores: BoardStores, access: Access, hosts: Hosts, read_only: bool) -> Self {
        Self {
            access,
            read_only,
            hosts,
            sessions: Sessions::default(),
            observation: Observation::of(stores.observe),
            places: Semaphore::new(Self::AT_A_TIME),
        }
    }
}
