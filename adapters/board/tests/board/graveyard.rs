use std::{sync::Arc, time::Duration};

use claimstream_board::{Board, BoardStores};
use claimstream_domain::{
    ByteBudget, ClaimId, ClaimRequest, DeadLetterFilter, Disposition, Headers, InstanceId, Lease, MessageId,
    NewMessage, Owner, Payload, QueueName, Reason, Settlement,
};
use claimstream_memory::MemoryStore;
use claimstream_ports::{DeadLetters, Enqueue, LockingStrategy, Observe, Settlements, Transactions};
use uuid::Uuid;

use crate::browser::{Browser, TwoTokens, stores, timer};

/// A store with dead letters, whose clock stands still unless a test moves it.
pub(crate) struct Graveyard {
    pub(crate) store: MemoryStore,
    claims: std::sync::atomic::AtomicU64,
}

pub(crate) const QUEUE: &str = "orders&<i>\"mails\"</i>";

impl Graveyard {
    pub(crate) fn new() -> Self {
        Self { store: MemoryStore::with_manual_clock(), claims: 1.into() }
    }

    /// Buries a message of the queue for each of these reasons, and then lets an hour pass.
    pub(crate) async fn bury(&self, reasons: &[&str]) -> Vec<MessageId> {
        let mut ids = Vec::new();
        for reason in reasons {
            ids.push(self.bury_one(QUEUE, reason).await);
            self.store.advance(Duration::from_millis(1));
        }
        self.store.advance(Duration::from_secs(3_600));
        ids
    }

    pub(crate) async fn bury_one(&self, queue: &str, reason: &str) -> MessageId {
        let (queue, id) = (QueueName::new(queue).unwrap(), MessageId::new(Uuid::new_v4()));
        let payload = Payload::new("text/<b>", b"<script>alert('payload')</script>".to_vec()).unwrap();
        let mut headers = Headers::new();
        headers.insert("x-for", "ann@example.com").unwrap();
        let message = NewMessage::new(id, queue.clone(), payload).with_headers(headers);
        let tx = self.store.begin_tx().await.unwrap();
        self.store.enqueue(&tx, &[message.ordered_by("k-<u>".parse().unwrap())]).await.unwrap();
        self.store.commit_tx(tx).await.unwrap();
        let instance = InstanceId(7);
        let number = self.claims.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let request = ClaimRequest {
            queue,
            limit: 1,
            budget: ByteBudget::new(1 << 20).unwrap(),
            lease: Lease::new(Duration::from_secs(30)).unwrap(),
            claim: ClaimId::new(instance, number),
            owner: Owner::of_process(instance, 1),
            runs: None,
        };
        let claimed = self.store.claim(&request).await.unwrap().remove(0);
        assert_eq!(claimed.message.id, id);
        let disposition = Disposition::dead(Reason::new(reason));
        self.store.settle(&[Settlement { receipt: claimed.receipt, disposition }]).await.unwrap();
        id
    }

    /// How many are dead, and how many are due again.
    pub(crate) async fn dead_and_due(&self) -> (u64, u64) {
        let status = self.store.observe().await.unwrap();
        (status.iter().map(|queue| queue.dead).sum(), status.iter().map(|queue| queue.due).sum())
    }

    pub(crate) async fn dead(&self) -> Vec<MessageId> {
        let letters = self.store.list(&DeadLetterFilter::default(), 1_000).await.unwrap();
        letters.into_iter().map(|letter| letter.message.id).collect()
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser::on(&self.store)
    }

    pub(crate) fn read_only(&self) -> Browser {
        let board = Board::for_users(self.stores(), timer(), Arc::new(TwoTokens)).read_only();
        Browser::of(board.router())
    }

    pub(crate) fn stores(&self) -> BoardStores {
        stores(&self.store)
    }
}
