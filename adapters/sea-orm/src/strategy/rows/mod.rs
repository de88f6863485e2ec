//! The strategies whose claims are rows of the queue: each marks due rows by a function of its own, and all else is one.

mod announcements;
mod at_once;
mod claim;
pub(super) mod marking;
mod open_claims;
mod preemptive_update;
mod read;
mod read_back;
mod renew;
mod row_claim;
pub(super) mod row_strategy;
mod settle;
mod skip_locked;
mod weights;

use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::{
    database::sql::Sql,
    strategy::{
        claim_strategy::ClaimStrategy,
        rows::{row_claim::RowClaim, row_strategy::RowStrategy},
        shared::take_back::take_back,
    },
};

#[async_trait]
impl ClaimStrategy for RowStrategy {
    async fn claim(self: Arc<Self>, request: ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        RowClaim::of(&self, request).run().await
    }

    async fn settle(self: Arc<Self>, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let settled = self.settle_rows(settlements).await?;
        take_back(&self.db, &self.db.sql.settle.uncount, settlements, &settled).await;
        Ok(settled)
    }

    async fn renew(self: Arc<Self>, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        self.renew_rows(receipts, lease).await
    }

    fn due_statement(&self) -> (&'static str, &Sql) {
        self.marking.due_statement(self.db.sql)
    }
}
