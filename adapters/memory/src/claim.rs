use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::{LockingStrategy, Settlements, StoreError};

use crate::{
    database::{Database, corrupt},
    store::MemoryStore,
    tables::{Row, Tables, identities},
};

#[async_trait]
impl LockingStrategy for MemoryStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let mut tables = self.database.tables();
        if tables.pauses.has(&request.queue) {
            return Ok(Vec::new());
        }
        let now = self.database.now();
        let claimed = tables.outbox.claim(request, now).map_err(|e| corrupt("claim", e))?;
        if !claimed.is_empty() {
            tables.instances.note(&request.owner, now);
        }
        Ok(claimed)
    }
}

#[async_trait]
impl Settlements for MemoryStore {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let children = || settlements.iter().flat_map(|settlement| settlement.disposition.emitted());
        self.database.check_payloads("settle", children())?;
        let all: Vec<_> = children().flat_map(identities).collect();
        let settle = |tables: &mut Tables| {
            settlements.iter().map(|settlement| settle_one(tables, &self.database, settlement)).collect()
        };
        self.database.when_free("settle", None, &all, settle).await?
    }

    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        let mut tables = self.database.tables();
        let now = self.database.now();
        Ok(receipts.iter().map(|receipt| tables.outbox.renew(receipt, lease, now)).collect())
    }
}

fn settle_one(
    tables: &mut Tables,
    database: &Database,
    settlement: &Settlement,
) -> Result<Settled, StoreError> {
    let now = database.now();
    let settled = tables.outbox.settle(settlement, now).map_err(|e| corrupt("settle", e))?;
    if settled == Settled::Accepted {
        for child in settlement.disposition.emitted() {
            if !tables.outbox.knows(child) {
                tables.outbox.enqueue(Row::new(child, database.shards, now), now);
            }
        }
    }
    Ok(settled)
}
