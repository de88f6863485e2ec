use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use claimstream_domain::{ClaimRequest, Claimed, Lease, QueueName, Receipt, Renewed, Settled, Settlement};
use claimstream_ports::{LockingStrategy, Settlements, StoreError, StoreErrorKind};

use crate::{Instance, Ports};

/// A store that counts its claims, fails one of them, and tells whether it is busy.
pub(super) struct Watched {
    ports: Ports,
    fails_at: Option<usize>,
    claims: AtomicUsize,
    busy: AtomicUsize,
}

impl Watched {
    pub(super) fn new(instance: &Instance, fails_at: Option<usize>) -> Arc<Self> {
        let ports = instance.ports.clone();
        Arc::new(Self { ports, fails_at, claims: AtomicUsize::new(0), busy: AtomicUsize::new(0) })
    }

    pub(super) fn claims(&self) -> usize {
        self.claims.load(Ordering::SeqCst)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst) > 0
    }

    async fn busy<T>(&self, call: impl Future<Output = T> + Send) -> T {
        struct Busy<'a>(&'a AtomicUsize);
        impl Drop for Busy<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.busy.fetch_add(1, Ordering::SeqCst);
        let _busy = Busy(&self.busy);
        call.await
    }
}

#[async_trait]
impl LockingStrategy for Watched {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let claim = 1 + self.claims.fetch_add(1, Ordering::SeqCst);
        if self.fails_at == Some(claim) {
            return Err(StoreError::new(StoreErrorKind::Transient, "claim", "injected"));
        }
        self.busy(self.ports.claiming.claim(request)).await
    }

    async fn release_read_ahead(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.busy(self.ports.claiming.release_read_ahead(queue)).await
    }
}

#[async_trait]
impl Settlements for Watched {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        self.busy(self.ports.settlements.settle(settlements)).await
    }

    async fn renew(&self, receipts: &[Receipt], lease: Lease) -> Result<Vec<Renewed>, StoreError> {
        self.busy(self.ports.settlements.renew(receipts, lease)).await
    }
}
