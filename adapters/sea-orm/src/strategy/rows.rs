use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, QueueName, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::StoreError;

use crate::{
    claim::{marking::Marking, row_claims::RowClaims, rows::claim},
    database::sql::Sql,
    settle::take_back::take_back,
    strategy::contract::ClaimStrategy,
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

    /// Nothing is read ahead.
    async fn give_back(self: Arc<Self>, _: &QueueName) -> Result<(), StoreError> {
        Ok(())
    }

    fn statement(&self) -> (&'static str, &Sql) {
        self.marking.statement(self.claims.db.sql)
    }
}
