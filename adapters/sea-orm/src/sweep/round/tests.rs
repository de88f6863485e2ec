use super::*;

#[test]
fn ids_of_a_moment_begin_with_it() {
    let id = Uuid::now_v7();
    let micros = (id.as_u128() >> 80) as i64 * 1000;
    assert!(first_id_of(micros) <= id && id < first_id_of(micros + 1000));
    assert_eq!(first_id_of(-1), Uuid::nil());
}

/// Live and finished ones lie between each other, and twenty of them are many windows.
#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_into_one_window_is_swept_by_the_next() {
    use claimstream_domain::{
        ByteBudget, ClaimId, ClaimRequest, Disposition, Enqueued, InstanceId, Lease, MessageId, NewMessage,
        Owner, Payload, QueueName, Settled, Settlement,
    };
    use claimstream_ports::{LockingStrategy, Settlements};

    use crate::{FrozenClock, OpenOptions, SeaOrmOutbox};

    let file = std::env::temp_dir().join(format!("claimstream-windows-{}.db", Uuid::now_v7()));
    let clock = FrozenClock::at(1_600_000_000_000_000);
    let options = OpenOptions { frozen_clock: Some(clock.clone()), ..OpenOptions::default() };
    let outbox = SeaOrmOutbox::open(&format!("sqlite://{}", file.display()), options).await.unwrap();
    let message = |n: u128| {
        let id = MessageId::new(Uuid::from_u128(n << 64));
        NewMessage::new(id, QueueName::new("orders").unwrap(), Payload::json("{}"))
    };
    let messages: Vec<_> = (1..=20).map(message).collect();
    outbox.enqueue_now(&messages).await.unwrap();
    let me = InstanceId(1);
    let request = ClaimRequest {
        queue: QueueName::new("orders").unwrap(),
        limit: 7,
        lease: Lease::default(),
        claim: ClaimId::new(me, 1),
        owner: Owner::new(me, "me").unwrap(),
        budget: ByteBudget::default(),
        runs: None,
    };
    let claimed = outbox.claim(&request).await.unwrap();
    let done = |receipt| Settlement { receipt, disposition: Disposition::Done { emit: vec![] } };
    let done: Vec<_> = claimed.into_iter().map(|claimed| done(claimed.receipt)).collect();
    assert_eq!(outbox.settle(&done).await.unwrap(), [Settled::Accepted; 7]);
    clock.advance(Retention::SHORTEST * 48);
    let mut round = Round { window: 3, ..Round::of(&outbox.rooms.sweeper) };
    let bound = clock.micros() - 1;
    assert_eq!(round.bodies(bound).await.unwrap(), 7);
    assert_eq!(round.bodies(bound).await.unwrap(), 0);
    let again = outbox.enqueue_now(&messages).await.unwrap();
    assert_eq!(again.iter().filter(|enqueued| **enqueued == Enqueued::New).count(), 7, "and they alone");
    drop(outbox);
    let _ = std::fs::remove_file(file);
}
