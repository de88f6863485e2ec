use std::sync::Arc;

use claimstream_domain::Lease;
use claimstream_ports::{DistributedLock, LockGuard, StoreErrorKind};
use futures::future::join_all;
use tokio::sync::Mutex;

use crate::suite::{Case, cases};
use crate::{LEASE, LockFixture};

pub const CLAUSES: &[Case<LockFixture>] = cases!["locks" needs [Locks]:
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
    a_lock_is_renewed_in_the_moment_in_which_it_was_taken,
    a_released_lock_is_not_renewed,
    holders_who_take_turns_never_meet_and_their_fences_grow,
    a_key_of_the_greatest_length_is_taken_and_a_longer_one_refused,
];

pub async fn a_free_lock_is_taken(fixture: LockFixture) {
    let guard = take(&*fixture.store, &fixture.key("a")).await.expect("the lock is free");
    assert_eq!(guard.key, fixture.key("a"));
}

/// Guard: a lock that is held is refused | adapters/sea-orm/src/sql/locks/take.sql: no `held_until <= now`;
/// no `NX` in take.lua; in memory no comparison
/// Guard: the token in the row decides who holds the lock, not the count of rows |
/// adapters/sea-orm/src/locks/rows.rs: `is_ours` ignored
pub async fn a_held_lock_is_refused_at_once(fixture: LockFixture) {
    let key = fixture.key("a");
    take(&*fixture.store, &key).await.expect("the lock is free");
    assert_eq!(take(&*fixture.rival, &key).await, None);
    assert_eq!(take(&*fixture.store, &key).await, None);
}

/// Guard: a lock expires, on SQLite and in memory | adapters/sea-orm/src/sql/locks/take.sql: it is never due
/// Guard: a lock expires, on Redis | adapters/redis/src/lua/take.lua: a day instead of the lease
pub async fn a_lock_lapses_at_the_end_of_its_lease(fixture: LockFixture) {
    let key = fixture.key("a");
    take(&*fixture.store, &key).await.expect("the lock is free");
    fixture.advance(LEASE - fixture.grain).await;
    assert_eq!(take(&*fixture.rival, &key).await, None);
    fixture.advance(fixture.grain).await;
    take(&*fixture.rival, &key).await.expect("the lock has lapsed");
}

pub async fn the_fence_is_larger_than_that_of_every_earlier_holder(fixture: LockFixture) {
    let key = fixture.key("a");
    let mut fences = Vec::new();
    for round in 0..6 {
        let side = if round % 2 == 0 { &fixture.store } else { &fixture.rival };
        let guard = take(&**side, &key).await.expect("the lock is free");
        fences.push(guard.fence);
        if round % 3 == 0 {
            assert!(side.release(guard).await.expect("release"));
        } else {
            fixture.advance(LEASE).await;
        }
    }
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
}

pub async fn a_renewed_lock_lasts_a_whole_lease_from_now(fixture: LockFixture) {
    let key = fixture.key("a");
    let guard = take(&*fixture.store, &key).await.expect("the lock is free");
    fixture.advance(LEASE - fixture.grain).await;
    assert!(fixture.store.renew(&guard, lease()).await.expect("renew"));
    fixture.advance(LEASE - fixture.grain).await;
    assert_eq!(take(&*fixture.rival, &key).await, None);
    fixture.advance(fixture.grain).await;
    take(&*fixture.rival, &key).await.expect("the lock has lapsed");
}

/// Guard: only the fence or token of the holder renews a lock | adapters/sea-orm/src/sql/locks/renew.sql: no
/// comparison; the same in renew.lua
pub async fn a_lost_lock_is_not_renewed(fixture: LockFixture) {
    let key = fixture.key("a");
    let lost = take(&*fixture.store, &key).await.expect("the lock is free");
    fixture.advance(LEASE).await;
    take(&*fixture.rival, &key).await.expect("the lock has lapsed");
    fixture.advance(LEASE - fixture.grain).await;
    assert!(!fixture.store.renew(&lost, lease()).await.expect("renew"));
    fixture.advance(fixture.grain).await;
    take(&*fixture.store, &key).await.expect("the lock has lapsed");
}

pub async fn a_released_lock_is_free_at_once(fixture: LockFixture) {
    let key = fixture.key("a");
    let guard = take(&*fixture.store, &key).await.expect("the lock is free");
    assert!(fixture.store.release(guard).await.expect("release"));
    take(&*fixture.rival, &key).await.expect("the lock is free again");
}

/// Guard: only the fence or token of the holder releases a lock | adapters/sea-orm/src/sql/locks/release.sql:
/// no `AND fence = :fence`; no comparison in release.lua and in memory
pub async fn a_lost_lock_is_not_released(fixture: LockFixture) {
    let key = fixture.key("a");
    let lost = take(&*fixture.store, &key).await.expect("the lock is free");
    fixture.advance(LEASE).await;
    take(&*fixture.rival, &key).await.expect("the lock has lapsed");
    assert!(!fixture.store.release(lost).await.expect("release"));
    assert_eq!(take(&*fixture.store, &key).await, None);
}

/// Guard: a released lock is not released again | adapters/sea-orm/src/sql/locks/release.sql: no
/// `held_until > now`
/// Guard: a fence is greater than the last one | adapters/sea-orm/src/sql/locks/take.sql: the time alone, as
/// in take.lua; in memory no increment
/// Guard: in memory, a release keeps the fence | adapters/memory/src/tables/locks.rs: the entry is removed
pub async fn a_released_lock_is_not_released_again(fixture: LockFixture) {
    let key = fixture.key("a");
    let guard = take(&*fixture.store, &key).await.expect("the lock is free");
    assert!(fixture.store.release(guard.clone()).await.expect("release"));
    assert!(!fixture.store.release(guard.clone()).await.expect("release"));
    take(&*fixture.rival, &key).await.expect("the lock is free again");
    assert!(!fixture.store.release(guard).await.expect("release"));
    assert_eq!(take(&*fixture.store, &key).await, None);
}

pub async fn keys_do_not_meet(fixture: LockFixture) {
    for name in ["a", "A", "a ", "ä", "a/b"] {
        take(&*fixture.store, &fixture.key(name)).await.expect("another key");
    }
}

pub async fn of_many_at_a_time_one_takes_the_lock(fixture: LockFixture) {
    for round in 0..10 {
        let key = fixture.key(&format!("round-{round}"));
        let takers = (0..6).map(|n| {
            let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
            let (side, key) = (side.clone(), key.clone());
            tokio::spawn(async move { take(&*side, &key).await })
        });
        let guards: Vec<_> = join_all(takers).await.into_iter().filter_map(|g| g.expect("a taker")).collect();
        assert_eq!(guards.len(), 1, "{guards:?}");
    }
}

/// Guard: a renewed lock expires, on Redis | adapters/redis/src/lua/renew.lua: `PERSIST`
pub async fn a_lock_is_renewed_in_the_moment_in_which_it_was_taken(fixture: LockFixture) {
    let guard = take(&*fixture.store, &fixture.key("a")).await.expect("the lock is free");
    for _ in 0..3 {
        assert!(fixture.store.renew(&guard, lease()).await.expect("renew"));
    }
    assert!(fixture.store.release(guard).await.expect("release"));
}

/// Guard: an expired or released lock is not renewed | adapters/sea-orm/src/sql/locks/renew.sql: no
/// `held_until > now`; in memory no comparison
pub async fn a_released_lock_is_not_renewed(fixture: LockFixture) {
    let key = fixture.key("a");
    let guard = take(&*fixture.store, &key).await.expect("the lock is free");
    assert!(fixture.store.release(guard.clone()).await.expect("release"));
    assert!(!fixture.store.renew(&guard, lease()).await.expect("renew"));
    take(&*fixture.rival, &key).await.expect("the lock is free again");
}

/// Guard: when another process inserts the lock's row first, the lock is not taken |
/// adapters/sea-orm/src/locks/rows.rs: no `Conflict` arm
pub async fn holders_who_take_turns_never_meet_and_their_fences_grow(fixture: LockFixture) {
    let (key, inside) = (fixture.key("a"), Arc::new(Mutex::new(Vec::new())));
    let takers = (0..6).map(|n| {
        let side = if n % 2 == 0 { &fixture.store } else { &fixture.rival };
        let (side, key, inside) = (side.clone(), key.clone(), inside.clone());
        tokio::spawn(async move {
            for _ in 0..20 {
                let Some(guard) = take(&*side, &key).await else { continue };
                {
                    let mut fences = inside.try_lock().expect("another holder is inside");
                    tokio::task::yield_now().await;
                    fences.push(guard.fence);
                }
                assert!(side.release(guard).await.expect("release"));
            }
        })
    });
    join_all(takers).await.into_iter().for_each(|taker| taker.expect("a taker"));
    let fences = inside.lock().await;
    assert!(fences.len() >= 6 && fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
}

pub async fn a_key_of_the_greatest_length_is_taken_and_a_longer_one_refused(fixture: LockFixture) {
    let mut key = fixture.key("");
    key.push_str(&"x".repeat(LockGuard::MAX_KEY_BYTES - key.len()));
    take(&*fixture.store, &key).await.expect("the lock is free");
    assert_eq!(take(&*fixture.rival, &key).await, None);
    key.push('x');
    let error = fixture.store.try_acquire(&key, lease()).await.expect_err("a key that is too long");
    assert_eq!(error.kind(), StoreErrorKind::Unsupported);
}

async fn take(locks: &dyn DistributedLock, key: &str) -> Option<LockGuard> {
    locks.try_acquire(key, lease()).await.expect("try to acquire")
}

fn lease() -> Lease {
    Lease::new(LEASE).expect("a lease")
}
