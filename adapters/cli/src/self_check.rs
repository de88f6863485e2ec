use async_trait::async_trait;
use claimstream_domain::{Finding, FindingGroup, Severity};
use claimstream_ports::{SelfCheck, StoreError};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;

use crate::{
    binlog::examine_binlog,
    command::{doctor, doctor_publishing::examine_publishing},
    config::Config,
};

/// What `claimstream doctor` finds without a walk over whole tables, for the board of a process that has opened its outbox.
pub(crate) struct ProgramCheck {
    pub(crate) outbox: SeaOrmOutbox,
    pub(crate) config: Config,
    pub(crate) timer: TokioTimer,
}

#[async_trait]
impl SelfCheck for ProgramCheck {
    async fn check(&self) -> Result<Vec<FindingGroup>, StoreError> {
        let findings = self.outbox.check().await?.into_iter().flat_map(|group| group.findings);
        let findings: Vec<_> = findings.chain(examine_binlog(&self.config).await).collect();
        let has_requests = match self.outbox.has_notification_requests().await {
            // The table may be one of those that are found to be gone, which says more.
            Err(_) if findings.iter().any(is_of_gone_tables) => false,
            counted => counted?,
        };
        let publishing = examine_publishing(&self.config, self.timer).await;
        Ok(doctor::groups((has_requests, findings), publishing, &self.config))
    }
}

fn is_of_gone_tables(found: &Finding) -> bool {
    found.check == "tables" && found.severity == Severity::Failure
}
