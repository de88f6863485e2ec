use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::Strain;
use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, dialect::Dialect, unit::rows},
    sweep::sweeper::Sweeper,
};

/// Tells a sweep how far the replicas are behind, as far as the service knows.
///
/// It is asked once a second while a sweep is under way, and must not wait: let it tell what was measured last.
///
/// ```
/// use std::time::Duration;
/// use claimstream_sea_orm::{LagGauge, OpenOptions};
///
/// # fn measured_last() -> Option<Duration> { None }
/// let options = OpenOptions { lag: Some(LagGauge::new(|| measured_last())), ..OpenOptions::default() };
/// ```
#[derive(Clone)]
pub struct LagGauge(Arc<dyn Fn() -> Option<Duration> + Send + Sync>);

impl LagGauge {
    /// A gauge that is read by a call; `None` where the lag is not known.
    pub fn new(read: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    fn read(&self) -> Option<Duration> {
        (self.0)()
    }
}

impl fmt::Debug for LagGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LagGauge").finish_non_exhaustive()
    }
}

impl Sweeper {
    /// How hard the database has it, as far as it lets us know.
    pub(crate) async fn strain(&self) -> Result<Strain, StoreError> {
        let lag = self.lag.as_ref().and_then(LagGauge::read);
        Ok(Strain { history: self.history().await?, lag })
    }

    async fn history(&self) -> Result<Option<u64>, StoreError> {
        if self.db.dialect == Dialect::Sqlite || self.is_blind() {
            return Ok(None);
        }
        match rows(self.db.relay(), "sweep", self.db.sql.sweep.history.bind(&Args::new())).await {
            Ok(found) => found.first().map(|row| row.number("history")).transpose(),
            Err(error) if error.is_retryable() => Err(error),
            Err(error) => {
                self.go_blind();
                tracing::warn!(%error, "sweeps cannot read the history list and do not wait for it; GRANT PROCESS lets them");
                Ok(None)
            }
        }
    }
}
