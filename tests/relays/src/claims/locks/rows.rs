use claimstream::Compose;
use claimstream_domain::{MessageId, NewMessage, OrderingKey, QueueName};
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{ConnectionTrait, DatabaseTransaction, QueryResult, Statement, Value};
use uuid::Uuid;

pub(super) use crate::statement::{rows, text};
use crate::{
    Instance, Ports,
    statement::{Args, bytes},
};

pub(super) fn args(queue: &QueueName, shard: u16, claim: Uuid, limit: usize) -> Args {
    // A minute from now on any server, whose clock is the machine's.
    let lease_end = now_micros() + 60_000_000;
    vec![
        ("queue", vec![Value::Bytes(Some(queue.as_str().as_bytes().to_vec()))]),
        ("shard", vec![shard.into()]),
        ("claim", vec![bytes(claim)]),
        ("low", vec![0_i64.into()]),
        ("limit", vec![(limit as i64).into()]),
        ("lease_end", vec![lease_end.into()]),
        ("inline", vec![4096_i64.into()]),
    ]
}

pub(super) fn now_micros() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("a clock after 1970").as_micros() as i64
}

pub(super) fn id(row: &QueryResult) -> MessageId {
    let bytes: Vec<u8> = row.try_get_by_index(0).expect("an id");
    MessageId::new(Uuid::from_slice(&bytes).expect("sixteen bytes"))
}

pub(super) async fn run(on: &DatabaseTransaction, statement: Statement) -> u64 {
    on.execute_raw(statement).await.expect("a statement").rows_affected()
}

pub(super) fn instance(id: u64, outbox: &SeaOrmOutbox, queue: &QueueName) -> Instance {
    Instance::new(id, Ports::of(outbox.clone()), queue.clone(), 10)
}

pub(super) fn message(queue: &QueueName, n: usize) -> NewMessage {
    let message = NewMessage::json(queue.clone(), &n).expect("a message");
    message.ordered_by(OrderingKey::new("account-7").expect("a key"))
}
