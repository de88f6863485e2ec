use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    ByteBudget, ClaimId, ClaimRequest, InstanceId, Lease, MessageId, NewMessage, Owner, Payload, QueueName,
    Shard,
};
use claimstream_ports::StoreErrorKind;
use uuid::Uuid;

use crate::{
    OpenOptions, Order, SeaOrmOutbox, Strategy, StrategyChoice,
    database::held::Held,
    strategy::shard_lease::{claim::claim, leases::ShardLease, shard_key::ShardKey},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_shard_is_named_to_the_call_that_waits_for_it_and_skipped_by_claims() {
    let file = std::env::temp_dir().join(format!("claimstream-lines-{}.db", Uuid::now_v7()));
    let strategy = StrategyChoice::Exactly(Strategy::ShardLease);
    // A claim that waited for as long would not end in the time of this test.
    let options =
        OpenOptions { strategy, acquire_timeout: Duration::from_secs(600), ..OpenOptions::default() };
    let outbox = SeaOrmOutbox::open(&format!("sqlite://{}", file.display()), options).await.unwrap();
    let queue = QueueName::new("orders").unwrap();
    let message = |n: u128| {
        NewMessage::new(MessageId::new(Uuid::from_u128(n << 64)), queue.clone(), Payload::json("{}"))
    };
    outbox.enqueue_now(&(1..=100).map(message).collect::<Vec<_>>()).await.unwrap();
    let (busy, me) = (Shard::from_number(3), InstanceId(1));
    let request = |limit, sequence| ClaimRequest {
        queue: queue.clone(),
        limit,
        lease: Lease::default(),
        claim: ClaimId::new(me, sequence),
        owner: Owner::new(me, "me").unwrap(),
        budget: ByteBudget::default(),
    };
    let rooms = &outbox.rooms;
    let lease = ShardLease::of(
        Arc::clone(&rooms.db),
        Arc::clone(&rooms.enqueueing),
        rooms.failover.clone(),
        Order::None,
    );
    let lease = Arc::new(lease);
    let (at_work, waits) = (Held::new(&rooms.db), Held::new(&rooms.db));
    let (key, patience) = (ShardKey { queue: queue.clone(), shard: busy }, Duration::from_millis(30));
    let turn = lease.turn("settle", std::slice::from_ref(&key), &at_work, patience).await;
    let turn = turn.ok().unwrap();
    let waited = lease.turn("settle", std::slice::from_ref(&key), &waits, patience).await;
    let error = waited.err().unwrap();
    assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
    let text = "other calls of this process were at work in shard 3 of queue orders for 30ms";
    assert_eq!(error.to_string(), format!("settle: {}: {text}", error.kind()));
    let claimed = claim(&lease, request(100, 1)).await.unwrap();
    assert!(!claimed.is_empty() && claimed.iter().all(|one| one.receipt.shard != busy));
    drop(turn);
    let rest = claim(&lease, request(100, 2)).await.unwrap();
    assert_eq!(claimed.len() + rest.len(), 100);
    assert!(rest.iter().all(|one| one.receipt.shard == busy));
    drop((at_work, waits));
    drop(outbox);
    let _ = std::fs::remove_file(file);
}
