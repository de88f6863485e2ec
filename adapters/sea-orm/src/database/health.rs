#[cfg(feature = "mysql")]
use super::nodes::known::Nodes;
use super::{moves::Moves, outage::Outage, servers::Servers, store_timer::StoreTimer};

/// The outages and takeovers of the server that were noticed. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Health {
    /// What they are measured by, and all that the outbox waits for.
    pub(crate) timer: StoreTimer,
    pub(crate) outage: Outage,
    pub(crate) servers: Servers,
    /// Notifies of another server that takes writes, where there are several.
    pub(crate) moves: Moves,
    /// The servers, where there are several.
    #[cfg(feature = "mysql")]
    pub(crate) nodes: Option<Nodes>,
}

impl Health {
    pub(crate) fn new(timer: StoreTimer) -> Self {
        let outage = Outage::new(timer.clone());
        Self { servers: Servers::after(outage.clone()), outage, timer, ..Self::default() }
    }

    /// The same for several servers.
    #[cfg(feature = "mysql")]
    pub(crate) fn with(self, nodes: Option<Nodes>) -> Self {
        Self { moves: nodes.as_ref().map(Nodes::moves).unwrap_or_default(), nodes, ..self }
    }

    /// Notes that connections have broken, and has the server asked that they led to.
    pub(crate) fn note_outage(&self) {
        self.outage.note();
        #[cfg(feature = "mysql")]
        if let Some(nodes) = &self.nodes {
            nodes.doubt();
        }
    }
}
