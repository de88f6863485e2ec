use claimstream_domain::{
    DedupKey, MessageId, NewMessage, QueueName, Timestamp,
    notification::NotificationRequest,
    saga::{NewSaga, SagaId},
    step::{Step, StepKey},
};
use uuid::Uuid;

use super::row::Row;

/// A write that takes effect when its transaction commits.
#[derive(Debug)]
pub(crate) enum Change {
    Enqueue(Row),
    Submit(Box<NotificationRequest>),
    Step(StepKey, Step),
    Saga(NewSaga, Timestamp),
}

/// What at most one row can be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Identity {
    Message(MessageId),
    Key(QueueName, DedupKey),
    Request(Uuid),
    Step(StepKey),
    Saga(Box<str>, SagaId),
}

/// One of the transactions on a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TransactionId(pub(super) u64);

/// The identities that a message takes.
pub(crate) fn identities(message: &NewMessage) -> Vec<Identity> {
    let key = message.dedup_key.clone().map(|key| Identity::Key(message.queue.clone(), key));
    key.into_iter().chain([Identity::Message(message.id)]).collect()
}
