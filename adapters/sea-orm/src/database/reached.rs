use std::time::Duration;

use claimstream_ports::{StoreError, StoreErrorKind};

#[cfg(feature = "mysql")]
use super::nodes::{known::Nodes, watch::Watch};
#[cfg(feature = "mysql")]
use super::{caller_pool::CallerPool, relay_pool::RelayPool};
use super::{connecting, dialect::Dialect, health::Health, store_timer::StoreTimer};

/// The server to connect to: the one that a URL names, or that one of several which takes writes.
pub(crate) struct Reached {
    /// Its own URL; it may bear a password.
    pub(crate) url: String,
    timer: StoreTimer,
    #[cfg(feature = "mysql")]
    nodes: Option<Nodes>,
    /// How long the first connection to it may take, where there are several; else the pool says so.
    left: Option<Duration>,
}

impl Reached {
    /// A server that has just said that it takes writes gives a connection in that time.
    #[cfg(feature = "mysql")]
    const AT_LEAST: Duration = Duration::from_secs(1);

    /// Looks for the server that takes writes, no longer than `timeout`, if the URL names several; asks none if it names one.
    pub(crate) async fn of(
        url: &str,
        dialect: Dialect,
        timeout: Duration,
        timer: StoreTimer,
    ) -> Result<Self, StoreError> {
        let misconfigured = |why: String| StoreError::new(StoreErrorKind::Misconfigured, "open", why);
        #[cfg(feature = "mysql")]
        if dialect == Dialect::MySql
            && let Some(nodes) = Nodes::of_url(url, &timer).map_err(misconfigured)?
        {
            nodes
                .first_url()
                .map_or(Ok(()), |url| connecting::names_a_database(url, dialect))
                .map_err(misconfigured)?;
            let searched = timer.stopwatch();
            let url = Box::pin(nodes.find(timeout)).await?;
            let left = timeout.saturating_sub(searched.elapsed()).max(Self::AT_LEAST);
            return Ok(Self { url, timer, nodes: Some(nodes), left: Some(left) });
        }
        let _ = timeout;
        connecting::names_a_database(url, dialect).map_err(misconfigured)?;
        Ok(Self {
            url: url.to_owned(),
            timer,
            #[cfg(feature = "mysql")]
            nodes: None,
            left: None,
        })
    }

    /// Opens what leads there; a search and the first connection together take no longer than the timeout of [`of`](Self::of).
    pub(crate) async fn within<T>(
        &self,
        opening: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Some(left) = self.left else { return opening.await };
        self.timer.timeout(left, opening).await.unwrap_or_else(|| {
            let why = format!("the server that takes writes gave no connection within {left:?}");
            Err(StoreError::new(StoreErrorKind::Unavailable, "open", why))
        })
    }

    /// What is known of outages, takeovers, and of the servers.
    pub(crate) fn health(&self) -> Health {
        #[cfg(feature = "mysql")]
        return Health::new(self.timer.clone()).with(self.nodes.clone());
        #[cfg(not(feature = "mysql"))]
        Health::new(self.timer.clone())
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
