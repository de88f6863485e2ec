//! Promise: a stopped stream leaves nothing leased ahead

use std::time::Duration;

use claimstream_domain::{
    Claimed, Disposition,
    Settled::{self, Accepted},
    Settlement,
};
use claimstream_testbed::eventually;

use crate::suite::{Case, cases};
use crate::{Fixture, LEASE, ids};

pub const CLAUSES: &[Case<Fixture>] = cases!["ahead" needs [Claims, Ownership]:
    what_is_leased_ahead_is_handed_out_once_and_in_turn,
    settlements_leave_what_is_leased_ahead_where_it_is,
    who_rests_has_nothing_leased_ahead_any_more,
    what_is_leased_ahead_for_too_long_is_free_without_a_call,
    a_claim_of_what_was_leased_ahead_lasts_as_long_as_any_other,
    a_claim_finds_again_what_it_left_for_too_long,
    who_takes_over_counts_an_attempt_for_what_was_leased_ahead,
    heavy_messages_are_not_leased_ahead_without_bound,
];

/// As many as make a claim worth reading ahead for.
const BATCH: u32 = 60;
/// Longer than anything waits.
const TOO_LONG: Duration = Duration::from_millis(250);

pub async fn what_is_leased_ahead_is_handed_out_once_and_in_turn(fixture: Fixture) {
    let sent = fixture.enqueue(600).await;
    let (mut handed_out, mut most_ahead) = (Vec::new(), 0);
    while handed_out.len() < sent.len() {
        let claimed = fixture.store.claim(BATCH).await;
        assert_eq!(claimed.len(), BATCH as usize);
        assert!(claimed.iter().all(|claimed| claimed.attempt == 1));
        handed_out.extend(claimed);
        most_ahead = most_ahead.max(leased(&fixture).await - handed_out.len() as u64);
    }
    assert_eq!(ids(&handed_out), sent);
    assert!(most_ahead >= u64::from(BATCH), "{most_ahead} were leased ahead");
    fixture.store.finds_nothing().await;
    assert!(done(&fixture, &handed_out).await.iter().all(|settled| *settled == Accepted));
    assert_eq!(fixture.rival.status().await.map_or(0, |status| status.depth), 0);
}

pub async fn settlements_leave_what_is_leased_ahead_where_it_is(fixture: Fixture) {
    let sent = fixture.enqueue(300).await;
    let mut left = sent.len() as u64;
    for claimed in two_claims(&fixture).await {
        assert!(done(&fixture, &claimed).await.iter().all(|settled| *settled == Accepted));
        left -= claimed.len() as u64;
        assert!(leased(&fixture).await >= u64::from(BATCH));
    }
    assert_eq!(fixture.rival.status().await.map(|status| status.depth), Some(left));
    assert_eq!(ids(&fixture.store.claim(BATCH).await), sent[120..180]);
}

pub async fn who_rests_has_nothing_leased_ahead_any_more(fixture: Fixture) {
    let sent = fixture.enqueue(300).await;
    for claimed in two_claims(&fixture).await {
        done(&fixture, &claimed).await;
    }
    fixture.store.ports.claiming.release_read_ahead(fixture.queue()).await.expect("released");
    assert_eq!(leased(&fixture).await, 0);
    let rest = fixture.rival.take_all().await;
    assert_eq!(ids(&rest), sent[120..]);
    assert!(rest.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted");
}

/// Guard: messages that were read ahead go back after a while without a call |
/// adapters/sea-orm/src/strategy/shard_lease/claim/hand_out.rs `take`: `watch` is not spawned
pub async fn what_is_leased_ahead_for_too_long_is_free_without_a_call(fixture: Fixture) {
    let sent = fixture.enqueue(300).await;
    for claimed in two_claims(&fixture).await {
        done(&fixture, &claimed).await;
    }
    fixture.advance(TOO_LONG).await;
    eventually("they are given back", || async { leased(&fixture).await == 0 }).await;
    assert_eq!(ids(&fixture.rival.take_all().await), sent[120..]);
}

/// Guard: messages that were read ahead have a longer lease |
/// adapters/sea-orm/src/strategy/shard_lease/claim/hand_out.rs `note_in_flight`: no time is added
pub async fn a_claim_of_what_was_leased_ahead_lasts_as_long_as_any_other(fixture: Fixture) {
    fixture.enqueue(300).await;
    let before = two_claims(&fixture).await.concat();
    fixture.advance(Duration::from_millis(150)).await;
    let claimed = fixture.store.claim(BATCH).await;
    assert!(before.iter().all(|one| !ids(&claimed).contains(&one.message.id)));
    fixture.advance(LEASE - Duration::from_micros(1)).await;
    fixture.rival.finds_nothing().await;
    assert!(done(&fixture, &claimed).await.iter().all(|settled| *settled == Accepted));
}

pub async fn a_claim_finds_again_what_it_left_for_too_long(fixture: Fixture) {
    let sent = fixture.enqueue(300).await;
    two_claims(&fixture).await;
    fixture.advance(TOO_LONG).await;
    let found = fixture.store.take_all().await;
    let mut again = ids(&found);
    again.sort();
    assert_eq!(again, sent[120..]);
    assert!(found.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted");
}

pub async fn who_takes_over_counts_an_attempt_for_what_was_leased_ahead(mut fixture: Fixture) {
    let sent = fixture.enqueue(240).await;
    two_claims(&fixture).await;
    let in_flight = leased(&fixture).await as usize;
    // The owner stops, so that it does not give back what it has leased ahead.
    fixture.store = fixture.rival.fork(9);
    fixture.advance(LEASE + TOO_LONG).await;
    for (n, id) in sent.iter().enumerate() {
        let claimed = fixture.rival.take_one().await;
        assert_eq!((claimed.message.id, claimed.attempt), (*id, if n < in_flight { 2 } else { 1 }));
        assert_eq!(fixture.rival.ack(&claimed).await, Accepted);
    }
}

/// Guard: the read-ahead is bounded in bytes | adapters/sea-orm/src/strategy/shard_lease/read_ahead/pages.rs
/// `reach`: no bound in bytes
pub async fn heavy_messages_are_not_leased_ahead_without_bound(fixture: Fixture) {
    let messages: Vec<_> = (0..240).map(|_| fixture.message_of(40_000)).collect();
    fixture.store.enqueue(&messages).await;
    let (mut handed_out, mut most_ahead) = (0, 0);
    for _ in 0..3 {
        handed_out += fixture.store.claim(BATCH).await.len() as u64;
        let ahead = leased(&fixture).await - handed_out;
        assert!(ahead * 40_000 <= 1 << 20, "{ahead} messages of 40 kB are leased ahead");
        most_ahead = most_ahead.max(ahead);
    }
    assert!(most_ahead > 0, "nothing was leased ahead");
}

/// The first brings what it asked for, the second leases more ahead.
async fn two_claims(fixture: &Fixture) -> [Vec<Claimed>; 2] {
    let claims = [fixture.store.claim(BATCH).await, fixture.store.claim(BATCH).await];
    assert!(leased(fixture).await >= u64::from(3 * BATCH), "nothing is leased ahead");
    claims
}

async fn leased(fixture: &Fixture) -> u64 {
    fixture.rival.status().await.map_or(0, |status| status.leased)
}

async fn done(fixture: &Fixture, claimed: &[Claimed]) -> Vec<Settled> {
    let end = |claimed: &Claimed| Settlement {
        receipt: claimed.receipt.clone(),
        disposition: Disposition::Done { emit: vec![] },
    };
    fixture.store.settle_all(&claimed.iter().map(end).collect::<Vec<_>>()).await
}
