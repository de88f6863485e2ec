//! The strategies whose claims are rows of the queue: each marks due rows by a function of its own.

mod announcements;
mod at_once;
mod claim;
pub(super) mod marking;
mod open_claims;
pub(super) mod preemptive_update;
mod read;
mod read_back;
mod renew;
mod row_claim;
pub(super) mod row_strategy;
pub(super) mod settle;
pub(super) mod skip_locked;
mod weights;

use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::{
    database::sql::Sql,
    strategy::{
        claim_strategy::ClaimStrategy,
        rows::{claim::claim, marking::Marking, row_strategy::RowClaims},
        shared::take_back::take_back,
    },
};

/// A strategy whose claims are rows of the queue; `marking` makes them.
pub(crate) struct RowStrategy<M> {
    claims: RowClaims,
    marking: M,
}

impl<M: Marking> RowStrategy<M> {
    pub(crate) fn of(claims: RowClaims, marking: M) -> Self {
        Self { claims, marking }
    }
}

#[async_trait]
impl<M: Marking> ClaimStrategy for RowStrategy<M> {
    async fn claim(self: Arc<Self>, request: ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        claim(&self.claims, &self.marking, request).await
    }

    async fn settle(self: Arc<Self>, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let (db, settlement) = (&self.claims.db, &self.claims.settlement);
        let settled = settlement.settle(settlements).await?;
        take_back(db, &db.sql.settle.uncount, settlements, &settled).await;
        Ok(settled)
    }

    async fn renew(self: Arc<Self>, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        self.claims.settlement.renew(receipts, lease).await
    }

    fn due_statement(&self) -> (&'static str, &Sql) {
        self.marking.due_statement(self.claims.db.sql)
    }
}
