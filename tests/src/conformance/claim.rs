use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use claimstream_domain::{ByteBudget, ClaimRequest, Claimed, Lease, MessageId, NewMessage, QueueName};
use futures::future::join_all;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE, ids};

pub const CLAUSES: &[Case<Fixture>] = cases!["claim" needs [Claims]:
    a_due_message_is_claimed_as_it_was_enqueued,
    a_claimed_message_is_not_claimed_again_while_leased,
    a_claim_takes_at_most_its_limit,
    a_claim_of_everything_takes_everything,
    a_claim_brings_no_more_bytes_than_its_budget_and_leaves_the_rest_untried,
    a_message_larger_than_the_budget_is_claimed_all_the_same,
    a_claim_may_ask_for_more_than_a_statement_can_name,
    a_claim_takes_only_the_asked_queue,
    queue_names_that_differ_only_in_case_are_two_queues,
    an_empty_queue_gives_an_empty_answer,
    the_oldest_due_time_comes_first_within_a_shard,
    a_delayed_message_is_due_to_the_microsecond,
    a_scheduled_message_is_due_to_the_microsecond,
    a_message_scheduled_in_the_past_is_due_at_once,
    a_message_that_was_due_before_younger_ones_goes_first_after_two_seconds_at_the_latest,
    a_lease_holds_to_its_last_microsecond,
    a_lease_that_has_run_out_is_due_again,
    a_lease_is_counted_from_the_claim,
    the_shortest_and_the_longest_lease_hold,
    a_reclaimed_message_has_one_more_attempt_and_a_new_receipt,
    attempts_count_at_claim_so_a_crash_loop_is_seen,
    a_claim_tells_why_the_attempt_before_failed,
    all_messages_of_a_claim_bear_its_claim_id,
    messages_of_one_ordering_key_lie_in_one_shard,
    one_instance_reaches_every_shard,
    a_shard_that_is_always_full_starves_no_other,
    a_repeated_claim_with_the_same_claim_id_never_hands_out_a_message_twice,
    a_repeated_claim_after_the_lease_never_hands_out_a_message_twice,
    two_claims_in_turn_share_no_message needs [Sharing],
    two_parallel_claimers_never_share_a_message,
    an_expired_message_goes_to_one_of_many_parallel_claimers,
];

pub async fn a_due_message_is_claimed_as_it_was_enqueued(fixture: Fixture) {
    let sent = fixture.message();
    fixture.store.enqueue(std::slice::from_ref(&sent)).await;
    let claimed = fixture.rival.take_one().await;
    assert_eq!(claimed.attempt, 1);
    assert_eq!(claimed.last_error, None);
    let message = &claimed.message;
    assert_eq!(message.id, sent.id);
    assert_eq!(message.queue, sent.queue);
    assert_eq!(message.ordering_key, sent.ordering_key);
    assert_eq!(message.headers, sent.headers);
    assert_eq!(message.payload, sent.payload);
    assert_eq!(message.shard, fixture.facts.shards.shard_of(sent.id, sent.ordering_key.as_ref()));
    let receipt = &claimed.receipt;
    assert_eq!((receipt.message, &receipt.queue, receipt.shard), (sent.id, &sent.queue, message.shard));
}

pub async fn a_claimed_message_is_not_claimed_again_while_leased(fixture: Fixture) {
    fixture.enqueue(1).await;
    fixture.store.take_one().await;
    fixture.rival.finds_nothing().await;
    fixture.store.finds_nothing().await;
}

pub async fn a_claim_takes_at_most_its_limit(fixture: Fixture) {
    fixture.enqueue(5).await;
    let claims = [fixture.store.claim(1).await, fixture.rival.claim(3).await];
    assert!(claims[0].len() <= 1 && claims[1].len() <= 3, "too many: {claims:?}");
    let rest = fixture.store.take_all().await;
    assert_eq!(claims[0].len() + claims[1].len() + rest.len(), 5);
}

pub async fn a_claim_of_everything_takes_everything(fixture: Fixture) {
    let mut sent = fixture.enqueue(7).await;
    let mut found = ids(&fixture.store.take_all().await);
    sent.sort();
    found.sort();
    assert_eq!(found, sent);
}

pub async fn a_claim_brings_no_more_bytes_than_its_budget_and_leaves_the_rest_untried(fixture: Fixture) {
    let sent = heavy(&fixture, &[40_000; 7]).await;
    let claims = claims_within(&fixture, 100_000, sent.len()).await;
    for claim in &claims {
        let bytes: usize = claim.iter().map(|claimed| claimed.message.payload.bytes().len()).sum();
        assert!(bytes <= 100_000, "{bytes} bytes in {} messages", claim.len());
    }
    let all = claims.concat();
    assert_eq!(ids(&all), sent);
    assert!(all.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted");
    assert!(all.iter().all(|claimed| claimed.message.payload.bytes()[..3] == [0, 1, 2]));
}

pub async fn a_message_larger_than_the_budget_is_claimed_all_the_same(fixture: Fixture) {
    let sent = heavy(&fixture, &[10, 90_000, 80_000, 10, 10]).await;
    let claims = claims_within(&fixture, 1000, sent.len()).await;
    assert!(claims.iter().all(|claim| claim.len() <= 2), "two large ones together, or one with others");
    let all = claims.concat();
    assert_eq!(ids(&all), sent);
    assert!(all.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted");
}

pub async fn a_claim_may_ask_for_more_than_a_statement_can_name(fixture: Fixture) {
    let sent = fixture.enqueue(5).await;
    let mut taken = Vec::new();
    for _ in 0..20 {
        taken.extend(fixture.store.claim(u32::MAX).await);
    }
    assert_eq!(
        taken.iter().map(|claimed| claimed.message.id).collect::<BTreeSet<_>>(),
        BTreeSet::from_iter(sent)
    );
}

/// Messages of one shard that carry so many bytes, one microsecond after the other.
async fn heavy(fixture: &Fixture, payloads: &[usize]) -> Vec<MessageId> {
    let mut sent = Vec::new();
    for bytes in payloads {
        let message = fixture.message_of(*bytes);
        sent.push(message.id);
        fixture.store.enqueue(&[message]).await;
        fixture.advance(Duration::from_micros(1)).await;
    }
    sent
}

/// Claims with a budget until there are so many messages, or none come.
async fn claims_within(fixture: &Fixture, bytes: usize, wanted: usize) -> Vec<Vec<Claimed>> {
    let budget = ByteBudget::new(bytes).expect("a budget");
    let mut claims: Vec<Vec<Claimed>> = Vec::new();
    for _ in 0..50 {
        if claims.iter().map(Vec::len).sum::<usize>() >= wanted {
            break;
        }
        let request = ClaimRequest { budget, ..fixture.store.request(10, LEASE) };
        claims.push(fixture.store.claim_as(&request).await);
    }
    claims
}

pub async fn a_claim_takes_only_the_asked_queue(fixture: Fixture) {
    let elsewhere = Fixture::fresh_queue();
    let other = NewMessage { queue: elsewhere.clone(), ..fixture.message() };
    let mine = fixture.message();
    fixture.store.enqueue(&[other.clone(), mine.clone()]).await;
    assert_eq!(ids(&fixture.store.take_all().await), [mine.id]);
    assert_eq!(ids(&fixture.rival.on(&elsewhere).take_all().await), [other.id]);
}

pub async fn queue_names_that_differ_only_in_case_are_two_queues(fixture: Fixture) {
    let upper = QueueName::new(&fixture.queue().as_str().to_uppercase()).expect("a valid name");
    fixture.store.enqueue(&[NewMessage { queue: upper.clone(), ..fixture.message() }]).await;
    fixture.store.finds_nothing().await;
    assert_eq!(fixture.store.on(&upper).take_one().await.message.queue, upper);
}

pub async fn an_empty_queue_gives_an_empty_answer(fixture: Fixture) {
    assert_eq!(fixture.store.claim(10).await, []);
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let _ = fixture.store.ack(&claimed).await;
    assert_eq!(fixture.rival.claim(10).await, []);
}

pub async fn the_oldest_due_time_comes_first_within_a_shard(fixture: Fixture) {
    let seconds = [40_u64, 10, 30, 20, 50];
    let delayed = |s: &u64| fixture.message().deliver_after(Duration::from_secs(*s));
    let messages: Vec<_> = seconds.iter().map(delayed).collect();
    fixture.store.enqueue(&messages).await;
    fixture.advance(Duration::from_secs(60)).await;
    let expected = [1, 3, 2, 0, 4].map(|n: usize| messages[n].id);
    assert_eq!(ids(&fixture.store.take_all().await), expected);
}

pub async fn a_delayed_message_is_due_to_the_microsecond(fixture: Fixture) {
    fixture.store.enqueue(&[fixture.message().deliver_after(Duration::from_secs(10))]).await;
    fixture.advance(Duration::from_micros(9_999_999)).await;
    fixture.store.finds_nothing().await;
    fixture.advance(Duration::from_micros(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a_scheduled_message_is_due_to_the_microsecond(fixture: Fixture) {
    let moment = fixture.moment(3_600_000_007);
    fixture.store.enqueue(&[fixture.message().deliver_at(moment)]).await;
    fixture.advance(Duration::from_micros(3_600_000_006)).await;
    fixture.store.finds_nothing().await;
    fixture.advance(Duration::from_micros(1)).await;
    fixture.rival.take_one().await;
}

pub async fn a_message_scheduled_in_the_past_is_due_at_once(fixture: Fixture) {
    let past = fixture.moment(-86_400_000_000);
    fixture.store.enqueue(&[fixture.message().deliver_at(past)]).await;
    fixture.store.take_one().await;
}

pub async fn a_message_that_was_due_before_younger_ones_goes_first_after_two_seconds_at_the_latest(
    fixture: Fixture,
) {
    let younger = fixture.enqueue(4).await;
    assert_eq!(ids(&fixture.store.take(2).await), younger[..2]);
    let older = fixture.message().deliver_at(fixture.moment(-5_000_000));
    fixture.rival.enqueue(std::slice::from_ref(&older)).await;
    fixture.advance(Duration::from_secs(2)).await;
    assert_eq!(ids(&fixture.store.take(2).await), [older.id, younger[2]]);
}

pub async fn a_lease_holds_to_its_last_microsecond(fixture: Fixture) {
    fixture.enqueue(1).await;
    fixture.store.take_one().await;
    fixture.advance(LEASE - Duration::from_micros(1)).await;
    fixture.rival.finds_nothing().await;
    fixture.store.finds_nothing().await;
}

pub async fn a_lease_that_has_run_out_is_due_again(fixture: Fixture) {
    let id = fixture.enqueue(1).await[0];
    fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    assert_eq!(fixture.rival.take_one().await.message.id, id);
    fixture.advance(LEASE + Duration::from_micros(1)).await;
    assert_eq!(fixture.store.take_one().await.message.id, id);
}

pub async fn a_lease_is_counted_from_the_claim(fixture: Fixture) {
    fixture.enqueue(1).await;
    fixture.advance(Duration::from_secs(600)).await;
    fixture.store.take_one().await;
    fixture.advance(LEASE - Duration::from_micros(1)).await;
    fixture.rival.finds_nothing().await;
}

pub async fn the_shortest_and_the_longest_lease_hold(fixture: Fixture) {
    for lease in [Lease::MIN, Lease::MAX] {
        let id = fixture.enqueue(1).await[0];
        fixture.store.take_for(1, lease).await;
        fixture.advance(lease - Duration::from_micros(1)).await;
        fixture.rival.finds_nothing().await;
        fixture.advance(Duration::from_micros(1)).await;
        let again = fixture.rival.take_one().await;
        assert_eq!(again.message.id, id);
        let _ = fixture.rival.ack(&again).await;
    }
}

pub async fn a_reclaimed_message_has_one_more_attempt_and_a_new_receipt(fixture: Fixture) {
    fixture.enqueue(1).await;
    let first = fixture.store.take_one().await;
    fixture.advance(LEASE).await;
    let second = fixture.rival.take_one().await;
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_ne!(first.receipt.claim, second.receipt.claim);
    assert_eq!(first.message, second.message);
}

pub async fn attempts_count_at_claim_so_a_crash_loop_is_seen(fixture: Fixture) {
    fixture.enqueue(1).await;
    for attempt in 1..=5 {
        assert_eq!(fixture.store.take_one().await.attempt, attempt);
        fixture.advance(LEASE).await;
    }
}

pub async fn a_claim_tells_why_the_attempt_before_failed(fixture: Fixture) {
    fixture.enqueue(2).await;
    let claimed = fixture.store.take(2).await;
    let _ = fixture.store.nack(&claimed[0], Duration::from_secs(1), "no answer").await;
    let _ = fixture.store.nack(&claimed[1], Duration::from_secs(2), "bad answer").await;
    fixture.advance(Duration::from_secs(2)).await;
    let again = fixture.rival.take(2).await;
    let why: Vec<_> = again.iter().map(|c| c.last_error.as_ref().map(|r| r.as_str())).collect();
    assert_eq!(why, [Some("no answer"), Some("bad answer")]);
}

pub async fn all_messages_of_a_claim_bear_its_claim_id(fixture: Fixture) {
    fixture.enqueue(3).await;
    let request = fixture.store.request(3, LEASE);
    let claimed = fixture.store.claim_as(&request).await;
    assert!(!claimed.is_empty());
    assert!(claimed.iter().all(|c| c.receipt.claim == request.claim), "{claimed:?}");
}

pub async fn messages_of_one_ordering_key_lie_in_one_shard(fixture: Fixture) {
    let sent = fixture.enqueue(9).await;
    let shards: HashSet<_> = fixture.store.take_all().await.iter().map(|c| c.message.shard).collect();
    assert_eq!((sent.len(), shards.len()), (9, 1));
}

pub async fn one_instance_reaches_every_shard(fixture: Fixture) {
    let sent: Vec<_> = (0..100).map(|_| fixture.loose_message()).collect();
    fixture.rival.enqueue(&sent).await;
    let claimed = fixture.store.take_all().await;
    assert_eq!(distinct(&claimed), 100);
    let shards: HashSet<_> = claimed.iter().map(|c| c.receipt.shard).collect();
    assert_eq!(shards.len(), usize::from(fixture.facts.shards.get()));
    for claimed in claimed {
        assert_eq!(claimed.message.shard, fixture.facts.shards.shard_of(claimed.message.id, None));
    }
}

pub async fn a_shard_that_is_always_full_starves_no_other(fixture: Fixture) {
    fixture.enqueue(6).await;
    let full = fixture.store.claim(2).await[0].receipt.shard;
    let shard_of = |message: &NewMessage| fixture.facts.shards.shard_of(message.id, None);
    let other = std::iter::repeat_with(|| fixture.loose_message()).find(|m| shard_of(m) != full);
    let other = other.expect("a message of another shard");
    fixture.rival.enqueue(std::slice::from_ref(&other)).await;
    for _ in 0..6 {
        fixture.advance(Duration::from_secs(1)).await;
        fixture.enqueue(2).await;
        if ids(&fixture.store.claim(2).await).contains(&other.id) {
            return;
        }
    }
    panic!("it was not claimed within 6 s");
}

pub async fn a_repeated_claim_with_the_same_claim_id_never_hands_out_a_message_twice(fixture: Fixture) {
    fixture.enqueue(4).await;
    let request = fixture.store.request(2, LEASE);
    let mut claimed = fixture.store.claim_as(&request).await;
    claimed.extend(fixture.store.claim_as(&request).await);
    claimed.extend(fixture.rival.claim_as(&request).await);
    assert!(!claimed.is_empty());
    assert_eq!(distinct(&claimed), claimed.len(), "handed out twice: {claimed:?}");
}

pub async fn a_repeated_claim_after_the_lease_never_hands_out_a_message_twice(fixture: Fixture) {
    fixture.enqueue(1).await;
    let request = fixture.store.request(1, LEASE);
    let mut claimed = fixture.store.claim_as(&request).await;
    fixture.advance(LEASE).await;
    claimed.extend(fixture.store.claim_as(&request).await);
    assert_eq!(claimed.len(), 1);
    assert_eq!(fixture.rival.take_one().await.attempt, 2);
}

pub async fn two_claims_in_turn_share_no_message(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    assert_eq!(ids(&fixture.store.take(3).await), sent[..3]);
    assert_eq!(ids(&fixture.rival.take(3).await), sent[3..]);
}

pub async fn two_parallel_claimers_never_share_a_message(fixture: Fixture) {
    let sent: Vec<_> = (0..200).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&sent).await;
    let claimers = (0..6_u64).map(|n| {
        let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
        let claimer = side.fork(100 + n);
        tokio::spawn(async move { claim_in_small_bites(&claimer, 7).await })
    });
    let claimed: Vec<Claimed> =
        join_all(claimers).await.into_iter().flat_map(|c| c.expect("a claimer")).collect();
    assert_eq!(distinct(&claimed), claimed.len(), "a message went to two claimers");
    let rest = fixture.store.take_all().await;
    assert_eq!(claimed.len() + rest.len(), 200, "a message was lost");
    assert!(claimed.iter().chain(&rest).all(|c| c.attempt == 1));
}

pub async fn an_expired_message_goes_to_one_of_many_parallel_claimers(fixture: Fixture) {
    for round in 1..=10 {
        if round == 1 {
            fixture.store.enqueue(&[fixture.message()]).await;
        }
        let claimers = (0..4_u64).map(|n| {
            let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
            let claimer = side.fork(200 + n);
            tokio::spawn(async move { claimer.take(1).await })
        });
        let claimed: Vec<Claimed> =
            join_all(claimers).await.into_iter().flat_map(|c| c.expect("a claimer")).collect();
        assert_eq!(claimed.len(), 1, "round {round}: {claimed:?}");
        assert_eq!(claimed[0].attempt, round);
        fixture.advance(LEASE).await;
    }
}

async fn claim_in_small_bites(claimer: &Instance, bite: usize) -> Vec<Claimed> {
    let mut all = Vec::new();
    loop {
        let some = claimer.take(bite).await;
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

fn distinct(claimed: &[Claimed]) -> usize {
    ids(claimed).into_iter().collect::<HashSet<_>>().len()
}
