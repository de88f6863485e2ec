//! What one claim takes: how many messages, how many bytes, of which queue.

use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{ByteBudget, ClaimRequest, Claimed, MessageId, NewMessage, QueueName};

use crate::{
    Fixture, LEASE, ids,
    suite::{Case, cases},
};

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
    all_messages_of_a_claim_bear_its_claim_id,
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

/// Guard: a claim has a budget of bytes | domain/src/byte_budget.rs `fitting`: everything fits
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

pub async fn all_messages_of_a_claim_bear_its_claim_id(fixture: Fixture) {
    fixture.enqueue(3).await;
    let request = fixture.store.request(3, LEASE);
    let claimed = fixture.store.claim_as(&request).await;
    assert!(!claimed.is_empty());
    assert!(claimed.iter().all(|c| c.receipt.claim == request.claim), "{claimed:?}");
}
