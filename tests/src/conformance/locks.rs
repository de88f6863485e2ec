use std::time::Duration;

use claimstream_domain::Lease;
use claimstream_ports::{DistributedLock, LockGuard};
use futures::future::join_all;

use super::{Clause, clauses};
use crate::{LEASE, LockStage};

pub const CLAUSES: &[Clause<LockStage>] = clauses!["locks":
    a_free_lock_is_taken,
    a_held_lock_is_refused_at_once,
    a_lock_lapses_at_the_end_of_its_lease,
    the_fence_is_larger_than_that_of_every_earlier_holder,
    a_renewed_lock_lasts_a_whole_lease_from_now,
    a_lost_lock_is_not_renewed,
    a_released_lock_is_free_at_once,
    a_lost_lock_is_not_released,
    a_released_lock_is_not_released_again,
    keys_do_not_meet,
    of_many_at_a_time_one_takes_the_lock,
];

const MICRO: Duration = Duration::from_micros(1);

pub async fn a_free_lock_is_taken(stage: LockStage) {
    let guard = take(&*stage.store, &stage.key("a")).await.expect("the lock is free");
    assert_eq!(guard.key, stage.key("a"));
}

pub async fn a_held_lock_is_refused_at_once(stage: LockStage) {
    let key = stage.key("a");
    take(&*stage.store, &key).await.expect("the lock is free");
    assert_eq!(take(&*stage.rival, &key).await, None);
    assert_eq!(take(&*stage.store, &key).await, None);
}

pub async fn a_lock_lapses_at_the_end_of_its_lease(stage: LockStage) {
    let key = stage.key("a");
    take(&*stage.store, &key).await.expect("the lock is free");
    stage.advance(LEASE - MICRO).await;
    assert_eq!(take(&*stage.rival, &key).await, None);
    stage.advance(MICRO).await;
    take(&*stage.rival, &key).await.expect("the lock has lapsed");
}

pub async fn the_fence_is_larger_than_that_of_every_earlier_holder(stage: LockStage) {
    let key = stage.key("a");
    let mut fences = Vec::new();
    for round in 0..6 {
        let side = if round % 2 == 0 { &stage.store } else { &stage.rival };
        let guard = take(&**side, &key).await.expect("the lock is free");
        fences.push(guard.fence);
        if round % 3 == 0 {
            assert!(side.release(guard).await.expect("release"));
        } else {
            stage.advance(LEASE).await;
        }
    }
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
}

pub async fn a_renewed_lock_lasts_a_whole_lease_from_now(stage: LockStage) {
    let key = stage.key("a");
    let guard = take(&*stage.store, &key).await.expect("the lock is free");
    stage.advance(LEASE - MICRO).await;
    assert!(stage.store.renew(&guard, lease()).await.expect("renew"));
    stage.advance(LEASE - MICRO).await;
    assert_eq!(take(&*stage.rival, &key).await, None);
    stage.advance(MICRO).await;
    take(&*stage.rival, &key).await.expect("the lock has lapsed");
}

pub async fn a_lost_lock_is_not_renewed(stage: LockStage) {
    let key = stage.key("a");
    let lost = take(&*stage.store, &key).await.expect("the lock is free");
    stage.advance(LEASE).await;
    take(&*stage.rival, &key).await.expect("the lock has lapsed");
    stage.advance(LEASE - MICRO).await;
    assert!(!stage.store.renew(&lost, lease()).await.expect("renew"));
    stage.advance(MICRO).await;
    take(&*stage.store, &key).await.expect("the lock has lapsed");
}

pub async fn a_released_lock_is_free_at_once(stage: LockStage) {
    let key = stage.key("a");
    let guard = take(&*stage.store, &key).await.expect("the lock is free");
    assert!(stage.store.release(guard).await.expect("release"));
    take(&*stage.rival, &key).await.expect("the lock is free again");
}

pub async fn a_lost_lock_is_not_released(stage: LockStage) {
    let key = stage.key("a");
    let lost = take(&*stage.store, &key).await.expect("the lock is free");
    stage.advance(LEASE).await;
    take(&*stage.rival, &key).await.expect("the lock has lapsed");
    assert!(!stage.store.release(lost).await.expect("release"));
    assert_eq!(take(&*stage.store, &key).await, None);
}

pub async fn a_released_lock_is_not_released_again(stage: LockStage) {
    let key = stage.key("a");
    let guard = take(&*stage.store, &key).await.expect("the lock is free");
    assert!(stage.store.release(guard.clone()).await.expect("release"));
    assert!(!stage.store.release(guard.clone()).await.expect("release"));
    take(&*stage.rival, &key).await.expect("the lock is free again");
    assert!(!stage.store.release(guard).await.expect("release"));
    assert_eq!(take(&*stage.store, &key).await, None);
}

pub async fn keys_do_not_meet(stage: LockStage) {
    for name in ["a", "A", "a ", "ä", "a/b"] {
        take(&*stage.store, &stage.key(name)).await.expect("another key");
    }
}

pub async fn of_many_at_a_time_one_takes_the_lock(stage: LockStage) {
    for round in 0..10 {
        let key = stage.key(&format!("round-{round}"));
        let takers = (0..6).map(|n| {
            let side = if n % 2 == 0 { &stage.store } else { &stage.rival };
            let (side, key) = (side.clone(), key.clone());
            tokio::spawn(async move { take(&*side, &key).await })
        });
        let guards: Vec<_> = join_all(takers).await.into_iter().filter_map(|g| g.expect("a taker")).collect();
        assert_eq!(guards.len(), 1, "{guards:?}");
    }
}

async fn take(locks: &dyn DistributedLock, key: &str) -> Option<LockGuard> {
    locks.try_acquire(key, lease()).await.expect("try to acquire")
}

fn lease() -> Lease {
    Lease::new(LEASE).expect("a lease")
}
