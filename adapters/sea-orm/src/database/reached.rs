use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};

#[cfg(feature = "mysql")]
use super::nodes::{known::Nodes, watch::Watch};
#[cfg(feature = "mysql")]
use super::{caller_pool::CallerPool, relay_pool::RelayPool};
use super::{connecting, dialect::Dialect, health::Health};

/// The server to connect to: the one that a URL names, or that one of several which takes writes.
pub(crate) struct Reached {
    /// Its own URL; it may bear a password.
    pub(crate) url: String,
    #[cfg(feature = "mysql")]
    nodes: Option<Nodes>,
}

impl Reached {
    /// Looks for the server that takes writes, no longer than `patience`, if the URL names several; asks nobody if it names one.
    pub(crate) async fn of(url: &str, dialect: Dialect, patience: Duration) -> Result<Self, StoreError> {
        let misconfigured = |why: String| StoreError::new(StoreErrorKind::Misconfigured, "open", why);
        #[cfg(feature = "mysql")]
        if dialect == Dialect::MySql
            && let Some(nodes) = Nodes::of_url(url).map_err(misconfigured)?
        {
            nodes
                .first_url()
                .map_or(Ok(()), |url| connecting::names_a_database(url, dialect))
                .map_err(misconfigured)?;
            let url = Box::pin(nodes.find(patience)).await?;
            return Ok(Self { url, nodes: Some(nodes) });
        }
        let _ = patience;
        connecting::names_a_database(url, dialect).map_err(misconfigured)?;
        Ok(Self {
            url: url.to_owned(),
            #[cfg(feature = "mysql")]
            nodes: None,
        })
    }

    /// What is known of outages, takeovers, and of the servers.
    pub(crate) fn health(&self) -> Health {
        #[cfg(feature = "mysql")]
        return Health::new().with(self.nodes.clone());
        #[cfg(not(feature = "mysql"))]
        Health::new()
    }

    /// From now on these pools are led to the server that takes writes, where there are several.
    #[cfg(feature = "mysql")]
    pub(crate) fn watch(
        &self,
        relay: &RelayPool,
        callers: &CallerPool,
        health: &Health,
        runtime: &tokio::runtime::Handle,
    ) -> Option<Watch> {
        let pools = [relay.connections.clone(), callers.connections.clone()];
        let nodes = self.nodes.clone()?;
        Some(Watch::begin(nodes, pools, health.outage.clone(), runtime))
    }
}
