use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream::Compose;
use claimstream_domain::{
    ClaimRequest, Claimed, Disposition, Lease, MessageId, NewMessage, QueueName, Settled, Settlement,
};
use claimstream_ports::{Enqueue, LockingStrategy, Settlements};
use claimstream_sea_orm::SeaOrmOutbox;
use futures::future::try_join_all;
use sea_orm::DatabaseTransaction;

use super::{known::Known, operation::Operation};
use crate::{
    Instance, Ports,
    fixture::{Cut, Random},
    ids,
};

/// One outbox on which futures are dropped and plain work goes on.
pub(super) struct Load {
    pub(super) outbox: SeaOrmOutbox,
    pub(super) instance: Instance,
    drops: [AtomicUsize; Operation::ALL.len()],
    done: AtomicBool,
    known: Mutex<Known>,
}

pub(super) const DROPS_OF_EACH: usize = 700;

pub(super) const CONNECTIONS: u32 = 8;

pub(super) const LEASE: Duration = Duration::from_secs(2);

impl Load {
    pub(super) fn new(outbox: SeaOrmOutbox, queue: QueueName) -> Self {
        let instance = Instance::new(1, Ports::of(outbox.clone()), queue, 10);
        let (drops, done) = (Default::default(), AtomicBool::new(false));
        Self { outbox, instance, drops, done, known: Mutex::default() }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn drops(&self) -> BTreeMap<Operation, usize> {
        let counted = self.drops.iter().map(|drops| drops.load(Ordering::SeqCst));
        Operation::ALL.into_iter().zip(counted).collect()
    }

    pub(super) async fn run(self: Arc<Self>) {
        let droppers = (0..8).map(|seed| tokio::spawn(self.clone().drop_until_enough(seed)));
        let plain: Vec<_> = (0..2).map(|_| tokio::spawn(self.clone().work())).collect();
        try_join_all(droppers.collect::<Vec<_>>()).await.expect("a dropper");
        self.done.store(true, Ordering::SeqCst);
        try_join_all(plain).await.expect("plain work");
    }

    async fn drop_until_enough(self: Arc<Self>, seed: u64) {
        let mut random = Random(seed + 1);
        let enough = |n: usize| self.drops[n].load(Ordering::SeqCst) >= DROPS_OF_EACH;
        let all = 0..Operation::ALL.len();
        while all.clone().any(|n| !enough(n)) {
            for n in all.clone().filter(|n| !enough(*n)) {
                let operation = Operation::ALL[n];
                let cut = Cut { polls: 1 + random.below(operation.polls()), late: random.below(2) == 0 };
                if self.cut_short(operation, cut).await {
                    self.drops[n].fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    }

    /// Runs an operation until it is cut while it waits; false if it came to its end before, or had nothing to do.
    async fn cut_short(&self, operation: Operation, cut: Cut) -> bool {
        match operation {
            Operation::Claim => cut.short(self.outbox.claim(&self.request())).await.is_none(),
            Operation::Settle => {
                let Some(claimed) = self.claim_some().await else { return false };
                let batch = done(&claimed);
                let settled = cut.short(self.outbox.settle(&batch)).await;
                match &settled {
                    Some(settled) => self.note_settled(&claimed, settled.as_ref().expect("settle")),
                    None => self.known().maybe_settled.extend(ids(&claimed)),
                }
                settled.is_none()
            }
            Operation::Renew => {
                let Some(claimed) = self.claim_some().await else { return false };
                let receipts: Vec<_> = claimed.into_iter().map(|c| c.receipt).collect();
                let renewed = cut.short(self.outbox.renew(&receipts, lease())).await;
                renewed.map(|renewed| renewed.expect("renew")).is_none()
            }
            Operation::EnqueueNow => {
                let message = self.message();
                let enqueued = cut.short(self.outbox.enqueue_now(std::slice::from_ref(&message))).await;
                self.note_enqueued(&message, enqueued.map(|enqueued| drop(enqueued.expect("enqueue"))))
            }
            Operation::Transaction => {
                let message = self.message();
                let transaction = async { self.transaction(&message).await.commit().await };
                let committed = cut.short(transaction).await;
                self.note_enqueued(&message, committed.map(|committed| committed.expect("commit")))
            }
            Operation::OwnTransaction => {
                let message = self.message();
                let transaction = async {
                    let tx = self.outbox.begin_own().await.expect("begin");
                    self.outbox.enqueue(&tx, std::slice::from_ref(&message)).await.expect("enqueue");
                    tx.commit().await
                };
                let committed = cut.short(transaction).await;
                self.note_enqueued(&message, committed.map(|committed| committed.expect("commit")))
            }
            Operation::Commit => {
                let message = self.message();
                let committed = cut.short(self.transaction(&message).await.commit()).await;
                self.note_enqueued(&message, committed.map(|committed| committed.expect("commit")))
            }
        }
    }

    /// Enqueues in a transaction of the caller's own, which is left open.
    async fn transaction(&self, message: &NewMessage) -> DatabaseTransaction {
        let tx = self.outbox.begin().await.expect("begin");
        self.outbox.enqueue(&tx, std::slice::from_ref(message)).await.expect("enqueue");
        tx
    }

    /// Plain work on the same pool: a write without a transaction, a claim, a settlement.
    async fn work(self: Arc<Self>) {
        while !self.done.load(Ordering::SeqCst) {
            self.write().await;
            let claimed = self.outbox.claim(&self.request()).await.expect("claim");
            self.settle(&claimed).await;
        }
    }

    pub(super) async fn write(&self) -> MessageId {
        let message = self.message();
        let enqueued = self.outbox.enqueue_now(std::slice::from_ref(&message)).await;
        enqueued.expect("an acknowledged write");
        self.note_enqueued(&message, Some(()));
        message.id
    }

    pub(super) async fn settle(&self, claimed: &[Claimed]) {
        let settled = self.outbox.settle(&done(claimed)).await.expect("settle");
        self.note_settled(claimed, &settled);
    }

    /// Claims something, unless others were faster.
    async fn claim_some(&self) -> Option<Vec<Claimed>> {
        self.write().await;
        let claimed = self.outbox.claim(&self.request()).await.expect("claim");
        (!claimed.is_empty()).then_some(claimed)
    }

    pub(super) fn request(&self) -> ClaimRequest {
        self.instance.request(3, LEASE)
    }

    fn message(&self) -> NewMessage {
        NewMessage::json(self.instance.queue().clone(), &"cut").expect("a message")
    }

    /// Notes an acknowledgement; tells whether the future was cut.
    fn note_enqueued(&self, message: &NewMessage, acknowledged: Option<()>) -> bool {
        if acknowledged.is_some() {
            self.known().acknowledged.insert(message.id);
        }
        acknowledged.is_none()
    }

    fn note_settled(&self, claimed: &[Claimed], settled: &[Settled]) {
        for (claimed, settled) in claimed.iter().zip(settled) {
            if *settled == Settled::Accepted {
                let before = self.known().settled.insert(claimed.message.id, claimed.receipt.clone());
                assert_eq!(before, None, "settled twice");
            }
        }
    }
}

fn done(claimed: &[Claimed]) -> Vec<Settlement> {
    let done = |c: &Claimed| Settlement {
        receipt: c.receipt.clone(),
        disposition: Disposition::Done { emit: vec![] },
    };
    claimed.iter().map(done).collect()
}

fn lease() -> Lease {
    Lease::new(LEASE).expect("a lease")
}
