use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, QueueName, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::{LockingStrategy, Settlements, StoreError};

use crate::outbox::{handle::SeaOrmOutbox, state::OutboxState};

const CLAIM: &str = "claim";
const SETTLE: &str = "settle";
const RENEW: &str = "renew";

#[async_trait]
impl LockingStrategy for SeaOrmOutbox {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let (state, request) = (Arc::clone(&self.state), request.clone());
        let work = async move {
            state.failover.claiming(request.claim);
            Arc::clone(&state.claims).claim(request).await
        };
        self.state.db.detached(CLAIM, work).await
    }

    async fn release_read_ahead(&self, queue: &QueueName) -> Result<(), StoreError> {
        Arc::clone(&self.state.claims).release_read_ahead(queue).await
    }
}

#[async_trait]
impl Settlements for SeaOrmOutbox {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        if settlements.is_empty() {
            return Ok(Vec::new());
        }
        let (state, settlements) = (Arc::clone(&self.state), settlements.to_vec());
        let work = async move {
            let begun = state.sweeper.settling();
            let settled = settle(&state, &settlements).await?;
            state.sweeper.note(&settlements, &settled, begun);
            Ok(settled)
        };
        self.state.db.detached(SETTLE, work).await
    }

    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        if receipts.is_empty() {
            return Ok(Vec::new());
        }
        let (claims, receipts) = (Arc::clone(&self.state.claims), receipts.to_vec());
        self.state.db.detached(RENEW, async move { claims.renew(&receipts, lease).await }).await
    }
}

/// Settles. A message that was claimed before another server took over is given back and not ended, and counts as lost.
async fn settle(state: &OutboxState, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
    loop {
        let heeded = state.failover.heeded(settlements);
        match Arc::clone(&state.claims).settle(&heeded).await {
            // The server was found to be another one on the way.
            Err(_) if state.failover.heeded(settlements) != heeded => {}
            Err(error) => return Err(error),
            Ok(settled) => {
                let pairs = settlements.iter().zip(heeded.iter()).zip(settled);
                let is_given_back = |one, heeded, settled| one != heeded && settled != Settled::Unknown;
                return Ok(pairs
                    .map(|((one, heeded), settled)| match is_given_back(one, heeded, settled) {
                        true => Settled::Superseded,
                        false => settled,
                    })
                    .collect());
            }
        }
    }
}
