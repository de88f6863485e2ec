use claimstream_domain::Load;
use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, dialect::Dialect, unit::rows},
    sweep::{lag::LagGauge, sweeper::Sweeper},
};

impl Sweeper {
    /// How hard the database has it, as far as it lets us know.
    pub(crate) async fn strain(&self) -> Result<Load, StoreError> {
        let lag = self.lag.as_ref().and_then(LagGauge::read);
        Ok(Load { history: self.history().await?, lag })
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
