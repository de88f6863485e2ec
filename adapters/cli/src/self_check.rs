use async_trait::async_trait;
use claimstream_domain::FindingGroup;
use claimstream_ports::{SelfCheck, StoreError};
use claimstream_sea_orm::SeaOrmOutbox;

use crate::{command::doctor, config::Config};

/// What `claimstream doctor` finds, for the board of a process that has opened its outbox.
pub(crate) struct ProgramCheck {
    pub(crate) outbox: SeaOrmOutbox,
    pub(crate) config: Config,
}

#[async_trait]
impl SelfCheck for ProgramCheck {
    async fn check(&self) -> Result<Vec<FindingGroup>, StoreError> {
        Ok(doctor::groups(Ok(&self.outbox), &self.config).await)
    }
}
