use std::time::Duration;

use claimstream_domain::{
    ClaimId, Claimed, Disposition, InstanceId, Locator, Message, MessageId, Payload, QueueName, Receipt,
    Settled, Shard,
};
use claimstream_suite::{History, fixture::Totals};
use uuid::Uuid;

fn id(n: u128) -> MessageId {
    MessageId::new(Uuid::from_u128(n))
}

fn claimed(message: u128, sequence: u64, attempt: u32) -> Claimed {
    let (queue, shard) = (QueueName::new("q").expect("a name"), Shard::from_number(3));
    let claim = ClaimId::new(InstanceId(5), sequence);
    let receipt = Receipt { message: id(message), queue: queue.clone(), shard, claim, locator: Locator(9) };
    let payload = Payload::json("{}");
    let message =
        Message { id: id(message), queue, shard, ordering_key: None, headers: Default::default(), payload };
    Claimed { message, receipt, attempt, last_error: None, place: Default::default(), waited: Duration::ZERO }
}

fn done() -> Disposition {
    Disposition::Done { emit: vec![] }
}

#[test]
fn counts_what_happened() {
    let history = History::of([id(1)]);
    let (first, second) = (claimed(1, 1, 1), claimed(1, 2, 2));
    history.claimed(&[first.clone(), second.clone()]);
    history.settled(&first, done(), Settled::Superseded);
    history.settled(&second, done(), Settled::Accepted);
    assert_eq!(history.check(), Totals { claims: 2, done: 1, ..Totals::default() });
}

#[test]
#[should_panic(expected = "never sent")]
fn finds_a_message_from_nowhere() {
    let history = History::of([id(1)]);
    history.claimed(&[claimed(2, 1, 1)]);
    history.check();
}

#[test]
#[should_panic(expected = "claimed twice as attempt 1")]
fn finds_a_message_that_two_claims_hold() {
    let history = History::of([id(1)]);
    history.claimed(&[claimed(1, 1, 1), claimed(1, 2, 1)]);
    history.check();
}

#[test]
#[should_panic(expected = "after its end")]
fn finds_a_message_that_is_claimed_after_its_end() {
    let history = History::of([id(1)]);
    let (first, second) = (claimed(1, 1, 1), claimed(1, 2, 2));
    history.settled(&first, done(), Settled::Accepted);
    history.claimed(&[second, first]);
    history.check();
}

#[test]
#[should_panic(expected = "ended twice")]
fn finds_a_message_that_ends_twice() {
    let history = History::of([id(1)]);
    let (first, second) = (claimed(1, 1, 1), claimed(1, 2, 2));
    history.claimed(&[first.clone(), second.clone()]);
    history.settled(&first, done(), Settled::Accepted);
    history.settled(&second, done(), Settled::Accepted);
    history.check();
}
