use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{
    ClaimId, ClaimRequest, Claimed, DeadLetter, DeadLetterFilter, Disposition, Enqueued, InstanceId, Lease,
    MessageId, NewMessage, Owner, QueueName, QueueStatus, Reason, Receipt, Renewed, Settled, Settlement,
};
use claimstream_ports::{DeadLetters, Enqueue, LockingStrategy, Observe, Settlements, Transactions};

use crate::{Begin, Transaction};

/// One instance of an application on its own connections, working on one queue.
///
/// Its methods are the ports' with the boring arguments filled in; they panic where the store answers an error. A clause
/// that is about an error uses the [`ports`](Self::ports).
#[derive(Clone)]
pub struct Instance {
    /// The bare ports.
    pub ports: Ports,
    queue: QueueName,
    owner: Owner,
    claims: Arc<AtomicU64>,
    patience: u32,
}

/// A store's ports, on connections that nobody else uses.
#[derive(Clone)]
pub struct Ports {
    /// Takes messages.
    pub claiming: Arc<dyn LockingStrategy>,
    /// Ends and extends claims.
    pub settlements: Arc<dyn Settlements>,
    /// What operators do with dead letters.
    pub dead_letters: Arc<dyn DeadLetters>,
    /// How the queues stand.
    pub observe: Arc<dyn Observe>,
    /// Begins callers' transactions.
    pub transactions: Arc<dyn Begin<dyn Transaction>>,
}

impl Ports {
    /// The ports of one store handle.
    pub fn of<S>(store: S) -> Self
    where
        S: LockingStrategy
            + Settlements
            + DeadLetters
            + Observe
            + Transactions
            + Enqueue<S::Tx>
            + Clone
            + 'static,
    {
        let store = Arc::new(store);
        Self {
            claiming: store.clone(),
            settlements: store.clone(),
            dead_letters: store.clone(),
            observe: store.clone(),
            transactions: store,
        }
    }
}

/// The lease that claims have unless they say otherwise.
pub const LEASE: Duration = Duration::from_secs(30);

impl Instance {
    /// Instance number `id`; `patience` is how many empty answers in a row show that nothing is due.
    pub fn new(id: u64, ports: Ports, queue: QueueName, patience: u32) -> Self {
        let owner = Owner::new(InstanceId(id), &format!("instance-{id}")).expect("a short label");
        Self { ports, queue, owner, claims: Arc::default(), patience }
    }

    /// Another instance on the same connections.
    pub fn fork(&self, id: u64) -> Self {
        Self::new(id, self.ports.clone(), self.queue.clone(), self.patience)
    }

    /// Another instance on other connections.
    pub fn of(&self, id: u64, ports: Ports) -> Self {
        Self::new(id, ports, self.queue.clone(), self.patience)
    }

    /// The same instance on another queue.
    pub fn on(&self, queue: &QueueName) -> Self {
        Self { queue: queue.clone(), ..self.clone() }
    }

    /// The queue it works on.
    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// A claim that has not been made yet.
    pub fn request(&self, limit: u32, lease: Duration) -> ClaimRequest {
        let sequence = self.claims.fetch_add(1, Ordering::SeqCst);
        ClaimRequest {
            budget: Default::default(),
            queue: self.queue.clone(),
            limit,
            lease: Lease::new(lease).expect("a lease"),
            claim: ClaimId::new(self.owner.instance(), sequence),
            owner: self.owner.clone(),
        }
    }

    /// Makes one claim.
    pub async fn claim_as(&self, request: &ClaimRequest) -> Vec<Claimed> {
        self.ports.claiming.claim(request).await.expect("claim")
    }

    /// Makes one claim with the usual lease.
    pub async fn claim(&self, limit: u32) -> Vec<Claimed> {
        self.claim_as(&self.request(limit, LEASE)).await
    }

    /// Claims until it has `wanted` messages or finds no more.
    pub async fn take(&self, wanted: usize) -> Vec<Claimed> {
        self.take_for(wanted, LEASE).await
    }

    /// Claims until it has `wanted` messages, each for `lease`, or finds no more.
    ///
    /// Panics if a message comes twice: no time passes in between.
    pub async fn take_for(&self, wanted: usize, lease: Duration) -> Vec<Claimed> {
        let mut taken = Vec::new();
        let mut seen = HashSet::new();
        let mut fruitless = 0;
        while taken.len() < wanted && fruitless < self.patience {
            let limit = (wanted - taken.len()).min(100) as u32;
            let found = self.claim_as(&self.request(limit, lease)).await;
            fruitless = if found.is_empty() { fruitless + 1 } else { 0 };
            for claimed in &found {
                assert!(seen.insert(claimed.message.id), "claimed twice at one time: {claimed:?}");
            }
            taken.extend(found);
        }
        taken
    }

    /// Claims everything that is due.
    pub async fn take_all(&self) -> Vec<Claimed> {
        self.take(usize::MAX).await
    }

    /// Claims the one message that must be there.
    pub async fn take_one(&self) -> Claimed {
        let mut taken = self.take(1).await;
        assert_eq!(taken.len(), 1, "one message should be due");
        taken.remove(0)
    }

    /// Fails if anything is due.
    pub async fn finds_nothing(&self) {
        let found = self.take(1).await;
        assert!(found.is_empty(), "nothing should be due, but {:?} was claimed", found[0]);
    }

    /// Settles one claim.
    pub async fn settle(&self, receipt: &Receipt, disposition: Disposition) -> Settled {
        let settled = self.settle_all(&[Settlement { receipt: receipt.clone(), disposition }]).await;
        assert_eq!(settled.len(), 1, "one answer for one settlement");
        settled[0]
    }

    /// Settles a batch.
    pub async fn settle_all(&self, batch: &[Settlement]) -> Vec<Settled> {
        self.ports.settlements.settle(batch).await.expect("settle")
    }

    /// Finishes a message.
    pub async fn ack(&self, claimed: &Claimed) -> Settled {
        self.settle(&claimed.receipt, Disposition::Done { emit: vec![] }).await
    }

    /// Puts a message off.
    pub async fn nack(&self, claimed: &Claimed, after: Duration, why: &str) -> Settled {
        self.settle(&claimed.receipt, Disposition::Retry { after, reason: Reason::new(why) }).await
    }

    /// Gives a message up.
    pub async fn bury(&self, claimed: &Claimed, why: &str) -> Settled {
        self.settle(&claimed.receipt, Disposition::dead(Reason::new(why))).await
    }

    /// Gives a message back.
    pub async fn release(&self, claimed: &Claimed) -> Settled {
        self.settle(&claimed.receipt, Disposition::Returned).await
    }

    /// Renews one claim.
    pub async fn renew(&self, receipt: &Receipt, lease: Duration) -> Renewed {
        let mut renewed = self.renew_all(std::slice::from_ref(receipt), lease).await;
        assert_eq!(renewed.len(), 1, "one answer for one renewal");
        renewed.remove(0)
    }

    /// Renews a batch of claims.
    pub async fn renew_all(&self, receipts: &[Receipt], lease: Duration) -> Vec<Renewed> {
        let lease = Lease::new(lease).expect("a lease");
        self.ports.settlements.renew(receipts, lease).await.expect("renew")
    }

    /// Begins a caller's transaction.
    pub async fn begin(&self) -> Box<dyn Transaction> {
        self.ports.transactions.begin().await.expect("begin")
    }

    /// Enqueues and commits.
    pub async fn enqueue(&self, messages: &[NewMessage]) -> Vec<Enqueued> {
        let tx = self.begin().await;
        let enqueued = tx.enqueue(messages).await.expect("enqueue");
        tx.commit().await.expect("commit");
        enqueued
    }

    /// How its queue stands, if it is listed.
    pub async fn status(&self) -> Option<QueueStatus> {
        let all = self.ports.observe.observe().await.expect("observe");
        let mut own = all.into_iter().filter(|status| status.queue == self.queue);
        let status = own.next();
        assert_eq!(own.next(), None, "a queue is listed once");
        status
    }

    /// The dead letters of its queue.
    pub fn own_dead(&self) -> DeadLetterFilter {
        DeadLetterFilter { queue: Some(self.queue.clone()), ..DeadLetterFilter::default() }
    }

    /// The dead letters of its queue, listed.
    pub async fn dead(&self) -> Vec<DeadLetter> {
        self.ports.dead_letters.list(&self.own_dead(), 1000).await.expect("list dead letters")
    }

    /// Revives dead letters and says how many.
    pub async fn revive(&self, filter: &DeadLetterFilter) -> u64 {
        self.ports.dead_letters.revive(filter).await.expect("revive")
    }

    /// Purges dead letters and says how many.
    pub async fn purge(&self, filter: &DeadLetterFilter) -> u64 {
        self.ports.dead_letters.purge(filter).await.expect("purge")
    }
}

/// The messages of claims, in their order.
pub fn ids(claimed: &[Claimed]) -> Vec<MessageId> {
    claimed.iter().map(|claimed| claimed.message.id).collect()
}
