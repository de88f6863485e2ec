use super::{outage::Outage, servers::Servers};

/// The outages and takeovers of the server that were noticed. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Health {
    pub(crate) outage: Outage,
    pub(crate) servers: Servers,
}

impl Health {
    pub(crate) fn new() -> Self {
        let outage = Outage::default();
        Self { servers: Servers::after(outage.clone()), outage }
    }
}
