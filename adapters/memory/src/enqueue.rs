use async_trait::async_trait;
use claimstream_domain::{
    Enqueued, NewMessage,
    notification::{NotificationRequest, Submitted, request_message},
};
use claimstream_ports::{Enqueue, StoreError, StoreErrorKind, Transactions, notification::SubmitRequests};

use crate::{
    database::{Database, corrupt},
    store::MemoryStore,
    tables::{Change, Identity, Row, Tables, TransactionId, identities},
    transaction::MemoryTransaction,
};

#[async_trait]
impl Enqueue<MemoryTransaction> for MemoryStore {
    async fn enqueue(
        &self,
        tx: &MemoryTransaction,
        messages: &[NewMessage],
    ) -> Result<Vec<Enqueued>, StoreError> {
        let database = self.database_of(tx, "enqueue")?;
        database.check_payloads("enqueue", messages)?;
        let all: Vec<Identity> = messages.iter().flat_map(identities).collect();
        let enqueue = |tables: &mut Tables| {
            messages.iter().map(|message| enqueue_one(tables, database, tx.id, message)).collect()
        };
        database.when_free("enqueue", Some(tx.id), &all, enqueue).await
    }
}

#[async_trait]
impl SubmitRequests<MemoryTransaction> for MemoryStore {
    async fn submit(
        &self,
        tx: &MemoryTransaction,
        requests: &[NotificationRequest],
    ) -> Result<Vec<Submitted>, StoreError> {
        let database = self.database_of(tx, "submit")?;
        let messages: Result<Vec<NewMessage>, _> = requests.iter().map(request_message).collect();
        let messages = messages.map_err(|e| corrupt("submit", e))?;
        let mut all: Vec<Identity> = messages.iter().flat_map(identities).collect();
        all.extend(requests.iter().map(|request| Identity::Request(request.id)));
        let submit = |tables: &mut Tables| {
            let is_taken = |(request, message): (&NotificationRequest, &NewMessage)| {
                tables.notifications.fingerprint(request.id).is_none()
                    && tables.open.request(tx.id, request.id).is_none()
                    && (tables.outbox.knows(message) || tables.open.has_written(tx.id, &identities(message)))
            };
            if requests.iter().zip(&messages).any(is_taken) {
                let why = "a message is kept under the id of one of these requests, which may have been delivered; look before you give it another id";
                return Err(StoreError::new(StoreErrorKind::Conflict, "submit", why));
            }
            let both = requests.iter().zip(&messages);
            Ok(both.map(|(request, message)| submit_one(tables, database, tx.id, request, message)).collect())
        };
        database.when_free_soon("submit", tx.id, &all, submit).await?
    }
}

impl MemoryStore {
    /// Enqueues in a transaction of its own.
    pub async fn enqueue_now(&self, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        let tx = self.begin();
        let enqueued = self.enqueue(&tx, messages).await?;
        tx.commit();
        Ok(enqueued)
    }
}

#[async_trait]
impl Transactions for MemoryStore {
    type Tx = MemoryTransaction;

    async fn begin_tx(&self) -> Result<MemoryTransaction, StoreError> {
        Ok(self.begin())
    }

    async fn commit_tx(&self, tx: MemoryTransaction) -> Result<(), StoreError> {
        self.database_of(&tx, "commit")?;
        tx.commit();
        Ok(())
    }

    async fn roll_back_tx(&self, tx: MemoryTransaction) -> Result<(), StoreError> {
        tx.rollback();
        Ok(())
    }
}

fn enqueue_one(
    tables: &mut Tables,
    database: &Database,
    tx: TransactionId,
    message: &NewMessage,
) -> Enqueued {
    let identities = identities(message);
    if tables.outbox.knows(message) || tables.open.has_written(tx, &identities) {
        return Enqueued::Duplicate;
    }
    let row = Row::new(message, database.shards, database.now());
    tables.open.write(tx, identities, Change::Enqueue(row));
    Enqueued::New
}

fn submit_one(
    tables: &mut Tables,
    database: &Database,
    tx: TransactionId,
    request: &NotificationRequest,
    message: &NewMessage,
) -> Submitted {
    let known = tables.notifications.fingerprint(request.id);
    let known = known.or_else(|| tables.open.request(tx, request.id).map(NotificationRequest::fingerprint));
    if let Some(known) = known {
        return Submitted::again(request.fingerprint(), known);
    }
    tables.open.write(tx, vec![Identity::Request(request.id)], Change::Submit(Box::new(request.clone())));
    enqueue_one(tables, database, tx, message);
    Submitted::New
}

#[cfg(test)]
mod tests {
    use claimstream_domain::{DedupKey, MessageId, Payload, QueueName};
    use futures::{FutureExt, executor::block_on};
    use uuid::Uuid;

    use super::*;

    fn message(n: u128, key: &str) -> NewMessage {
        let queue = QueueName::new("orders").unwrap();
        let message = NewMessage::new(MessageId::new(Uuid::from_u128(n)), queue, Payload::json("{}"));
        message.unique_by(DedupKey::new(key).unwrap())
    }

    #[test]
    fn a_second_writer_waits_until_the_first_has_ended() {
        let store = MemoryStore::new();
        for (n, commit, expected) in [(1, true, Enqueued::Duplicate), (3, false, Enqueued::New)] {
            let (first, second) = (store.begin(), store.begin());
            let (one, other) = ([message(n, &n.to_string())], [message(n + 1, &n.to_string())]);
            block_on(store.enqueue(&first, &one)).unwrap();
            let mut waiting = store.enqueue(&second, &other).boxed();
            assert!((&mut waiting).now_or_never().is_none());
            if commit {
                first.commit();
            } else {
                first.rollback();
            }
            assert_eq!(block_on(waiting).unwrap(), [expected]);
        }
    }

    #[test]
    fn of_two_that_wait_for_each_other_one_gets_an_error() {
        let store = MemoryStore::new();
        let (one, other) = (store.begin(), store.begin());
        block_on(store.enqueue(&one, &[message(1, "a")])).unwrap();
        block_on(store.enqueue(&other, &[message(2, "b")])).unwrap();
        let wanted = [message(3, "b")];
        let mut waiting = store.enqueue(&one, &wanted).boxed();
        assert!((&mut waiting).now_or_never().is_none());
        let error = block_on(store.enqueue(&other, &[message(4, "a")])).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Transient);
        drop(other);
        assert_eq!(block_on(waiting).unwrap(), [Enqueued::New]);
    }

    #[test]
    fn an_enqueue_that_is_given_up_while_it_waits_leaves_nothing() {
        let store = MemoryStore::new();
        let (first, second) = (store.begin(), store.begin());
        block_on(store.enqueue(&first, &[message(1, "a")])).unwrap();
        assert!(store.enqueue(&second, &[message(2, "b"), message(3, "a")]).now_or_never().is_none());
        second.commit();
        drop(first);
        assert_eq!(block_on(store.enqueue_now(&[message(4, "b")])).unwrap(), [Enqueued::New]);
    }

    #[test]
    fn a_transaction_of_another_store_is_refused() {
        let (store, other) = (MemoryStore::new(), MemoryStore::new());
        let error = block_on(store.enqueue(&other.begin(), &[message(1, "a")])).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unsupported);
    }
}
