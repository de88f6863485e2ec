use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use claimstream::{Claimed, Lease, QueueName, Renewed, Settled, StoreError, StoreErrorKind};
use claimstream_domain::{ClaimId, ClaimRequest, Receipt, Settlement};
use claimstream_ports::{LockingStrategy, Settlements};
use futures::channel::oneshot;

use crate::play::claimed;

/// A store whose every answer waits until the test gives it.
#[derive(Clone, Default)]
pub struct SlowStore(Arc<Mutex<Calls>>);

#[derive(Default)]
struct Calls {
    claims: Vec<Call<ClaimRequest, Claimed>>,
    settles: Vec<Call<Vec<Settlement>, Settled>>,
    renewals: Vec<Call<Vec<Receipt>, Renewed>>,
    rests: usize,
}

/// What was asked, and where the answer goes.
type Call<Q, A> = (Q, oneshot::Sender<Vec<A>>);

impl SlowStore {
    /// How many claim, settle and renew calls are waiting.
    pub fn waiting(&self) -> (usize, usize, usize) {
        let calls = self.0.lock().unwrap();
        (calls.claims.len(), calls.settles.len(), calls.renewals.len())
    }

    /// How often it was told that no more will be claimed.
    pub fn rests(&self) -> usize {
        self.0.lock().unwrap().rests
    }

    /// Answers the oldest claim call with the messages of these numbers; says what was asked.
    pub fn bring(&self, numbers: impl IntoIterator<Item = u128>) -> ClaimId {
        let (request, answer) = self.0.lock().unwrap().claims.remove(0);
        let messages = numbers.into_iter().map(|n| claimed(n, request.claim, 1)).collect();
        let _ = answer.send(messages);
        request.claim
    }

    /// Answers the oldest claim call with messages of these numbers and attempts, none of which has said why it failed.
    pub fn bring_cut_off(&self, messages: impl IntoIterator<Item = (u128, u32)>) {
        let (request, answer) = self.0.lock().unwrap().claims.remove(0);
        let cut_off = |(n, attempt)| Claimed { last_error: None, ..claimed(n, request.claim, attempt) };
        let _ = answer.send(messages.into_iter().map(cut_off).collect());
    }

    /// Has the oldest claim call panic.
    pub fn panic_in_claim(&self) {
        drop(self.0.lock().unwrap().claims.remove(0));
    }

    /// Takes the oldest settle call's settlements and answers `Accepted` to all.
    pub fn accept(&self) -> Vec<Settlement> {
        let (settlements, answer) = self.0.lock().unwrap().settles.remove(0);
        let _ = answer.send(vec![Settled::Accepted; settlements.len()]);
        settlements
    }

    /// Takes the oldest settle call's settlements and answers that the store is away.
    pub fn be_away(&self) -> Vec<Settlement> {
        let (settlements, answer) = self.0.lock().unwrap().settles.remove(0);
        drop(answer);
        settlements
    }

    /// Answers the oldest renew call.
    pub fn renewed(&self, answer: impl FnMut(Receipt) -> Renewed) {
        let (receipts, reply) = self.0.lock().unwrap().renewals.remove(0);
        let _ = reply.send(receipts.into_iter().map(answer).collect());
    }
}

#[async_trait]
impl LockingStrategy for SlowStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.0.lock().unwrap().claims.push((request.clone(), answer));
        Ok(answered.await.unwrap())
    }

    async fn release_read_ahead(&self, _: &QueueName) -> Result<(), StoreError> {
        self.0.lock().unwrap().rests += 1;
        Ok(())
    }
}

#[async_trait]
impl Settlements for SlowStore {
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.0.lock().unwrap().settles.push((settlements.to_vec(), answer));
        let away = |_| StoreError::new(StoreErrorKind::Unavailable, "settle", "the store is away");
        answered.await.map_err(away)
    }

    async fn renew(&self, receipts: &[Receipt], _: Lease) -> Result<Vec<Renewed>, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.0.lock().unwrap().renewals.push((receipts.to_vec(), answer));
        Ok(answered.await.unwrap())
    }
}
