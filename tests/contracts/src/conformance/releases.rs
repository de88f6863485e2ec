//! A lease that an operator takes from its holder: as a take-over, before its end.
//! Promise: a lease is released once and only under the fence that the operator saw; messages in flight are
//! due again with one attempt more, and nothing is lost or accepted twice

use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{
    Claimed, Disposition, LeaseListed, LeaseRelease, Renewed,
    Settled::{Accepted, Superseded},
    Settlement, Shard,
};
use futures::join;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE, ids};

pub const CLAUSES: &[Case<Fixture>] = cases!["releases" needs [Claims, Settlements]:
    a_shard_without_a_holder_is_not_released,
    a_released_shard_goes_to_the_next_instance_under_a_new_fence needs [Ownership],
    what_was_in_flight_at_a_release_counts_an_attempt_and_is_handed_out_alone needs [Ownership],
    what_its_holder_settles_after_a_release_is_superseded needs [Ownership],
    a_renewal_after_a_release_is_superseded_and_brings_nothing_back needs [Ownership],
    a_release_under_another_fence_changes_nothing needs [Ownership],
    a_lease_is_released_once needs [Ownership],
    a_lease_that_has_ended_is_released_and_counts_once needs [Ownership],
    the_holder_may_take_what_was_released_from_it_again needs [Ownership],
    what_was_read_ahead_under_a_released_lease_is_accepted_once needs [Ownership],
    a_settlement_at_the_moment_of_a_release_is_accepted_once_or_comes_again needs [Ownership],
    a_claim_or_renewal_at_the_moment_of_a_release_loses_nothing needs [Ownership],
];

/// Guard: a release asks for a holder | adapters/sea-orm/src/sql/shard_lease/release.sql: no
/// `holder IS NOT NULL`
pub async fn a_shard_without_a_holder_is_not_released(fixture: Fixture) {
    let sent = fixture.enqueue(2).await;
    let message = fixture.message();
    let shard = fixture.facts.shards.shard_of(message.id, message.ordering_key.as_ref());
    assert_eq!(release(&fixture.rival, shard, 0).await, LeaseRelease::Changed);
    let claimed = fixture.store.take(2).await;
    for claimed in &claimed {
        assert_eq!(fixture.store.ack(claimed).await, Accepted);
    }
    let fence = shown(&fixture.rival, shard).await.map_or(1, |lease| lease.fence);
    assert_eq!(release(&fixture.rival, shard, fence).await, LeaseRelease::Changed);
    assert_eq!(ids(&claimed), sent);
    assert!(claimed.iter().all(|claimed| claimed.attempt == 1));
}

/// Guard: a release begins a new fence | adapters/sea-orm/src/sql/shard_lease/end.sql: the fence stays
pub async fn a_released_shard_goes_to_the_next_instance_under_a_new_fence(fixture: Fixture) {
    let (_, lease) = hold(&fixture, 3, 2).await;
    fixture.rival.finds_nothing().await;
    let released = release(&fixture.rival, lease.shard, lease.fence).await;
    assert_eq!(released, LeaseRelease::Released { cut_off: 2 });
    let free = shown(&fixture.store, lease.shard).await.expect("a lease");
    assert_eq!((free.holder, free.ends_in, free.in_flight), (None, None, 0));
    assert!(free.fence > lease.fence);
    fixture.rival.take_one().await;
    let next = shown(&fixture.store, lease.shard).await.expect("a lease");
    assert_eq!(next.holder.as_deref(), Some("instance-22"));
    assert!(next.fence > free.fence, "a free shard is taken under a new fence");
}

pub async fn what_was_in_flight_at_a_release_counts_an_attempt_and_is_handed_out_alone(fixture: Fixture) {
    let (held, lease) = hold(&fixture, 4, 3).await;
    assert_eq!(fixture.store.ack(&held[1]).await, Accepted);
    let released = release(&fixture.rival, lease.shard, lease.fence).await;
    assert_eq!(released, LeaseRelease::Released { cut_off: 2 });
    for cut_off in [&held[0], &held[2]] {
        let alone = fixture.rival.take(9).await;
        assert_eq!((ids(&alone), alone[0].attempt), (vec![cut_off.message.id], 2));
        assert_eq!(fixture.rival.ack(&alone[0]).await, Accepted);
    }
    let rest = fixture.rival.take(9).await;
    assert_eq!((rest.len(), rest[0].attempt), (1, 1));
    assert_eq!(fixture.rival.ack(&rest[0]).await, Accepted);
    assert_eq!(fixture.rival.status().await.map_or(0, |status| status.depth), 0);
}

pub async fn what_its_holder_settles_after_a_release_is_superseded(fixture: Fixture) {
    let (held, lease) = hold(&fixture, 5, 4).await;
    release(&fixture.rival, lease.shard, lease.fence).await;
    let end = |n: usize, disposition| Settlement { receipt: held[n].receipt.clone(), disposition };
    let child = fixture.message();
    assert_eq!(fixture.store.ack(&held[0]).await, Superseded);
    assert_eq!(fixture.store.nack(&held[1], Duration::ZERO, "busy").await, Superseded);
    let both = [
        end(2, Disposition::Done { emit: vec![child.clone()] }),
        end(3, Disposition::dead(claimstream_domain::Reason::new("bad"))),
    ];
    assert_eq!(fixture.store.settle_all(&both).await, [Superseded, Superseded]);
    assert!(fixture.store.dead().await.is_empty());
    let mut handled = all(&fixture.rival).await;
    assert!(!handled.contains(&child.id) && handled.len() == 5, "{handled:?}");
    handled.retain(|id| !ids(&held).contains(id));
    assert_eq!(handled.len(), 1);
}

pub async fn a_renewal_after_a_release_is_superseded_and_brings_nothing_back(fixture: Fixture) {
    let (held, lease) = hold(&fixture, 2, 2).await;
    assert!(matches!(fixture.store.renew(&held[0].receipt, LEASE).await, Renewed::Extended(_)));
    release(&fixture.rival, lease.shard, lease.fence).await;
    let receipts: Vec<_> = held.iter().map(|claimed| claimed.receipt.clone()).collect();
    for _ in 0..2 {
        assert_eq!(
            fixture.store.renew_all(&receipts, LEASE).await,
            [Renewed::Superseded, Renewed::Superseded]
        );
    }
    assert_eq!(fixture.rival.take_one().await.message.id, held[0].message.id);
}

/// Guard: a release asks for the fence that the operator saw |
/// adapters/sea-orm/src/sql/shard_lease/release.sql: no `fence = :fence`
pub async fn a_release_under_another_fence_changes_nothing(fixture: Fixture) {
    let (held, first) = hold(&fixture, 2, 1).await;
    assert_eq!(fixture.store.ack(&held[0]).await, Accepted);
    let next = fixture.rival.take_one().await;
    let second = shown(&fixture.store, first.shard).await.expect("a lease");
    assert!(second.fence > first.fence);
    for fence in [first.fence, second.fence - 1, second.fence + 1, -1, i64::MAX] {
        assert_eq!(release(&fixture.store, first.shard, fence).await, LeaseRelease::Changed, "{fence}");
    }
    assert_eq!(shown(&fixture.store, first.shard).await, Some(second));
    assert_eq!(fixture.rival.ack(&next).await, Accepted);
}

/// Guard: a release counts an attempt for each message in flight |
/// adapters/sea-orm/src/strategy/shard_lease/lease/release.rs `end`: no `charge`
pub async fn a_lease_is_released_once(fixture: Fixture) {
    let (held, lease) = hold(&fixture, 1, 1).await;
    let (store, rival) = (&fixture.store, &fixture.rival);
    let (one, other) =
        join!(release(store, lease.shard, lease.fence), release(rival, lease.shard, lease.fence));
    let mut answers = [one, other];
    answers.sort_by_key(|answer| *answer == LeaseRelease::Changed);
    assert_eq!(answers, [LeaseRelease::Released { cut_off: 1 }, LeaseRelease::Changed]);
    assert_eq!(release(rival, lease.shard, lease.fence).await, LeaseRelease::Changed);
    assert_eq!(release(rival, lease.shard, lease.fence + 1).await, LeaseRelease::Changed, "it is not held");
    let again = rival.take_one().await;
    assert_eq!((again.message.id, again.attempt), (held[0].message.id, 2));
}

pub async fn a_lease_that_has_ended_is_released_and_counts_once(fixture: Fixture) {
    let (held, lease) = hold(&fixture, 1, 1).await;
    fixture.advance(LEASE).await;
    let released = release(&fixture.rival, lease.shard, lease.fence).await;
    assert_eq!(released, LeaseRelease::Released { cut_off: 1 });
    let again = fixture.rival.take_one().await;
    assert_eq!((again.message.id, again.attempt), (held[0].message.id, 2));
    assert_eq!(fixture.store.ack(&held[0]).await, Superseded);
    assert_eq!(fixture.rival.ack(&again).await, Accepted);
}

pub async fn the_holder_may_take_what_was_released_from_it_again(fixture: Fixture) {
    let (held, lease) = hold(&fixture, 3, 2).await;
    // Also a process releases what it holds itself.
    release(&fixture.store, lease.shard, lease.fence).await;
    let again = fixture.store.take(9).await;
    assert_eq!((ids(&again), again[0].attempt), (vec![held[0].message.id], 2));
    assert_eq!(fixture.store.ack(&held[0]).await, Superseded);
    assert_eq!(fixture.store.ack(&again[0]).await, Accepted);
    assert_eq!(all(&fixture.store).await.len(), 2);
}

pub async fn what_was_read_ahead_under_a_released_lease_is_accepted_once(fixture: Fixture) {
    let sent = fixture.enqueue(130).await;
    let mut held = fixture.store.claim(50).await;
    let lease = shown(&fixture.store, held[0].message.shard).await.expect("a lease");
    let LeaseRelease::Released { cut_off } = release(&fixture.rival, lease.shard, lease.fence).await else {
        panic!("it was held")
    };
    assert!(cut_off >= 50, "{cut_off}");
    held.extend(fixture.store.claim(50).await);
    let done = |claimed: &Claimed| Settlement {
        receipt: claimed.receipt.clone(),
        disposition: Disposition::Done { emit: vec![] },
    };
    let settled = fixture.store.settle_all(&held.iter().map(done).collect::<Vec<_>>()).await;
    let accepted = held.iter().zip(settled).filter(|(_, settled)| *settled == Accepted);
    let mut handled: Vec<_> = accepted.map(|(claimed, _)| claimed.message.id).collect();
    handled.extend(all(&fixture.rival).await);
    let once: BTreeSet<_> = handled.iter().copied().collect();
    assert_eq!((handled.len(), once), (sent.len(), sent.into_iter().collect()));
}

pub async fn a_settlement_at_the_moment_of_a_release_is_accepted_once_or_comes_again(fixture: Fixture) {
    for round in 0..12 {
        let (held, lease) = hold(&fixture, 3, 3).await;
        let (store, rival) = (&fixture.store, &fixture.rival);
        let settle = async {
            match round % 3 {
                0 => vec![store.ack(&held[0]).await],
                1 => {
                    let (one, other) = join!(store.ack(&held[0]), store.ack(&held[1]));
                    vec![one, other]
                }
                _ => vec![store.bury(&held[0], "bad").await],
            }
        };
        let (answers, released) = join!(settle, release(rival, lease.shard, lease.fence));
        let accepted = answers.iter().filter(|answer| **answer == Accepted).count();
        assert_eq!(released, LeaseRelease::Released { cut_off: 3 - accepted as u64 }, "{answers:?}");
        let dead = if round % 3 == 2 { store.purge(&store.own_dead()).await } else { 0 };
        assert_eq!(dead, if round % 3 == 2 { accepted as u64 } else { 0 });
        let mut rest = all(rival).await;
        rest.sort();
        let mut expected: Vec<_> = held.iter().map(|claimed| claimed.message.id).collect();
        for (claimed, answer) in held.iter().zip(&answers) {
            expected.retain(|id| *answer != Accepted || *id != claimed.message.id);
        }
        expected.sort();
        assert_eq!(rest, expected, "{answers:?}");
    }
}

pub async fn a_claim_or_renewal_at_the_moment_of_a_release_loses_nothing(fixture: Fixture) {
    for _ in 0..8 {
        let (held, lease) = hold(&fixture, 6, 3).await;
        let (store, rival) = (&fixture.store, &fixture.rival);
        let renew = store.renew(&held[0].receipt, LEASE);
        let (renewed, more, released) =
            join!(renew, store.claim(2), release(rival, lease.shard, lease.fence));
        // Whatever came first, afterwards nothing of the old lease is accepted.
        assert!(matches!(released, LeaseRelease::Released { .. }), "{released:?} {renewed:?}");
        for claimed in &held {
            assert_eq!(store.ack(claimed).await, Superseded);
        }
        let mut handled = Vec::new();
        for claimed in &more {
            handled.extend((store.ack(claimed).await == Accepted).then_some(claimed.message.id));
        }
        handled.extend(all(rival).await);
        let once: BTreeSet<_> = handled.iter().copied().collect();
        assert_eq!((handled.len(), once.len()), (6, 6), "{more:?}");
    }
}

/// Enqueues `sent` messages, and lets the first instance hold `taken` of them.
async fn hold(fixture: &Fixture, sent: usize, taken: usize) -> (Vec<Claimed>, LeaseListed) {
    fixture.enqueue(sent).await;
    let held = fixture.store.take(taken).await;
    assert_eq!(held.len(), taken);
    let lease = shown(&fixture.rival, held[0].message.shard).await.expect("a lease");
    assert_eq!(lease.holder.as_deref(), Some("instance-11"));
    (held, lease)
}

/// Takes and ends all that is due, and says in which order.
async fn all(instance: &Instance) -> Vec<claimstream_domain::MessageId> {
    let mut handled = Vec::new();
    loop {
        let taken = instance.take(20).await;
        if taken.is_empty() {
            return handled;
        }
        for claimed in &taken {
            assert_eq!(instance.ack(claimed).await, Accepted, "{claimed:?}");
            handled.push(claimed.message.id);
        }
    }
}

async fn shown(instance: &Instance, shard: Shard) -> Option<LeaseListed> {
    let shown = instance.ports.releases.lease(instance.queue(), shard).await.expect("a look");
    shown.map(|shown| shown.lease)
}

async fn release(instance: &Instance, shard: Shard, fence: i64) -> LeaseRelease {
    let releases = &instance.ports.releases;
    releases.release_lease(instance.queue(), shard, fence, "ann").await.expect("an answer")
}
