//! Promise: a shard with a steady flow of messages stays with its instance for a moment, and one with a
//! backlog does not

use std::time::Duration;

use claimstream_domain::{LeaseRelease, Settled::Accepted};

use crate::suite::{Case, cases};
use crate::{Fixture, ids};

pub const CLAUSES: &[Case<Fixture>] = cases!["keeping" needs [Claims, Ownership]:
    a_shard_through_which_messages_flow_is_kept_for_a_moment,
    an_instance_goes_on_in_a_shard_that_it_keeps,
    two_claims_in_a_row_are_no_flow,
    a_shard_that_brings_single_messages_is_not_kept,
    a_shard_whose_messages_are_handled_slowly_is_not_kept,
    a_shard_that_is_left_with_messages_is_not_kept,
    a_shard_that_is_kept_with_nothing_in_flight_is_released,
];

/// For how long a shard is kept.
const KEPT: Duration = Duration::from_millis(200);
const MOMENT: Duration = Duration::from_millis(20);

/// Lets the first instance take and finish `count` messages in each of `rounds`, so long after it has claimed them.
async fn flow(fixture: &Fixture, rounds: u32, count: usize, handled_in: Duration) {
    for _ in 0..rounds {
        fixture.advance(MOMENT).await;
        let sent = fixture.enqueue(count).await;
        let taken = fixture.store.claim(9).await;
        assert_eq!(ids(&taken), sent);
        fixture.advance(handled_in).await;
        for claimed in &taken {
            assert_eq!(fixture.store.ack(claimed).await, Accepted);
        }
    }
}

pub async fn a_shard_through_which_messages_flow_is_kept_for_a_moment(fixture: Fixture) {
    flow(&fixture, 3, 2, MOMENT).await;
    let sent = fixture.enqueue(2).await;
    fixture.advance(KEPT - MOMENT).await;
    fixture.rival.finds_nothing().await;
    fixture.advance(MOMENT).await;
    let taken = fixture.rival.take_all().await;
    assert_eq!(ids(&taken), sent);
    assert!(taken.iter().all(|claimed| claimed.attempt == 1), "nothing was in flight there");
    fixture.store.finds_nothing().await;
    for claimed in &taken {
        assert_eq!(fixture.rival.ack(claimed).await, Accepted);
    }
}

pub async fn an_instance_goes_on_in_a_shard_that_it_keeps(fixture: Fixture) {
    flow(&fixture, 3, 2, MOMENT).await;
    let sent = fixture.enqueue(2).await;
    fixture.rival.finds_nothing().await;
    let taken = fixture.store.take(1).await;
    assert_eq!(ids(&taken), sent[..1]);
    assert_eq!(fixture.store.ack(&taken[0]).await, Accepted);
    // One is left there, so any instance may take it.
    assert_eq!(ids(&fixture.rival.take_all().await), sent[1..]);
}

pub async fn two_claims_in_a_row_are_no_flow(fixture: Fixture) {
    flow(&fixture, 2, 2, MOMENT).await;
    let sent = fixture.enqueue(2).await;
    assert_eq!(ids(&fixture.rival.take_all().await), sent);
}

pub async fn a_shard_that_brings_single_messages_is_not_kept(fixture: Fixture) {
    flow(&fixture, 5, 1, MOMENT).await;
    let sent = fixture.enqueue(2).await;
    assert_eq!(ids(&fixture.rival.take_all().await), sent);
}

pub async fn a_shard_whose_messages_are_handled_slowly_is_not_kept(fixture: Fixture) {
    flow(&fixture, 5, 2, 6 * MOMENT).await;
    let sent = fixture.enqueue(2).await;
    assert_eq!(ids(&fixture.rival.take_all().await), sent);
}

pub async fn a_shard_that_is_left_with_messages_is_not_kept(fixture: Fixture) {
    flow(&fixture, 3, 2, MOMENT).await;
    let sent = fixture.enqueue(3).await;
    let taken = fixture.store.claim(2).await;
    assert_eq!(ids(&taken), sent[..2]);
    for claimed in &taken {
        assert_eq!(fixture.store.ack(claimed).await, Accepted);
    }
    assert_eq!(ids(&fixture.rival.take_all().await), sent[2..]);
}

pub async fn a_shard_that_is_kept_with_nothing_in_flight_is_released(fixture: Fixture) {
    flow(&fixture, 3, 2, MOMENT).await;
    let sent = fixture.enqueue(2).await;
    fixture.rival.finds_nothing().await;
    let leases = fixture.rival.ports.instances.leases_of(fixture.queue()).await.expect("a list");
    let kept = leases.iter().find(|lease| lease.holder.is_some()).expect("a shard that is kept");
    let releases = &fixture.rival.ports.releases;
    let released = releases.release_lease(fixture.queue(), kept.shard, kept.fence, "ann").await;
    assert_eq!(released.expect("an answer"), LeaseRelease::Released { cut_off: 0 });
    let taken = fixture.rival.take_all().await;
    assert_eq!(ids(&taken), sent);
    assert!(taken.iter().all(|claimed| claimed.attempt == 1), "nothing was in flight there");
}
