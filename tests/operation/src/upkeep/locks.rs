use std::time::Duration;

use claimstream_domain::Lease;
use claimstream_ports::{DistributedLock, ListLocks};
use claimstream_sea_orm::{FrozenClock, SeaOrmOutbox};
use sea_orm::{ConnectionTrait, Statement};

use super::{Place, Setup, backend, keep};
use crate::{LEASE, Suite};

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    // Guard: the fence of a new row begins at the time | adapters/sea-orm/src/sql/locks/make.sql: 1
    let what = "a_lock_that_was_not_held_for_a_day_is_forgotten_and_its_fence_continues";
    place.add(suite, "auto", keep(), what, is_forgotten_and_its_fence_goes_on);
    // Guard: a lock that was given back is free wherever the clock goes, and is not renewed |
    // adapters/sea-orm/src/sql/locks/release.sql: `token = :token`
    let what = "a_lock_that_was_given_back_is_free_though_the_clock_was_set_back";
    place.add(suite, "auto", keep(), what, is_free_though_the_clock_was_set_back);
}

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn is_forgotten_and_its_fence_goes_on(setup: Setup) {
    let old = fence(&setup.outbox, "old").await;
    setup.clock.advance(DAY);
    fence(&setup.outbox, "young").await;
    setup.clock.advance(LEASE);
    setup.sweep().await;
    assert_eq!(locks(&setup).await, 2, "the old one lapsed a day ago and not longer");
    setup.clock.advance(Setup::MOMENT);
    setup.sweep().await;
    assert_eq!(locks(&setup).await, 1);
    assert!(fence(&setup.outbox, "old").await > old);
}

async fn is_free_though_the_clock_was_set_back(setup: Setup) {
    let lease = Lease::new(LEASE).expect("a lease");
    let guard = setup.outbox.try_acquire("jobs", lease).await.expect("an answer").expect("it is free");
    assert!(setup.outbox.release(guard.clone()).await.expect("release"));
    let earlier = FrozenClock::at(setup.clock.micros() - 3_600_000_000);
    let queue = setup.instance.queue().clone();
    let setup = Setup::at(setup.url.clone(), earlier, setup.options.clone(), queue).await;
    assert!(!setup.outbox.renew(&guard, lease).await.expect("renew"), "it was given back");
    assert!(!setup.outbox.release(guard.clone()).await.expect("release"), "it was given back before");
    let listed = setup.outbox.locks(None, 10).await.expect("a list");
    assert_eq!(listed.iter().map(|lock| lock.ends_in).collect::<Vec<_>>(), [None]);
    let next = setup.outbox.try_acquire("jobs", lease).await.expect("an answer").expect("it is free");
    assert!(next.fence > guard.fence);
    assert!(setup.outbox.try_acquire("jobs", lease).await.expect("an answer").is_none(), "it is held");
}

async fn fence(outbox: &SeaOrmOutbox, key: &str) -> u64 {
    let lease = Lease::new(LEASE).expect("a lease");
    outbox.try_acquire(key, lease).await.expect("try to acquire").expect("the lock is free").fence
}

async fn locks(setup: &Setup) -> i64 {
    let db = setup.outbox.connection();
    let count = "SELECT COUNT(*) FROM claimstream_lock";
    let row = db.query_one_raw(Statement::from_string(backend(db), count)).await.expect("a count");
    row.expect("a row").try_get_by_index(0).expect("a number")
}
