//! What people are shown of instances, leases and locks.
//! Promise: instances, leases of shards and locks are listed page by page, each along its key

use claimstream_domain::{InstanceId, Lease, LockListed, QueueName};
use claimstream_ports::LockGuard;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, LEASE};

pub const CLAUSES: &[Case<Fixture>] = cases!["instances" needs [Claims, Settlements]:
    instances_that_claim_messages_are_listed_by_id needs [Sharing],
    a_lease_is_listed_with_its_holder_and_what_is_in_flight needs [Ownership],
    locks_are_listed_by_key_and_released_by_the_fence_that_is_shown,
];

pub async fn instances_that_claim_messages_are_listed_by_id(fixture: Fixture) {
    fixture.enqueue(2).await;
    fixture.store.take(1).await;
    fixture.rival.take(1).await;
    let listed = fixture.rival.ports.instances.instances(None, 10_000).await.expect("a list");
    assert!(listed.is_sorted_by(|a, b| a.id < b.id), "{listed:?}");
    let label = |id| listed.iter().find(|one| one.id == InstanceId(id)).map(|one| one.label.as_str());
    assert_eq!((label(11), label(22)), (Some("instance-11"), Some("instance-22")));
    let behind = fixture.store.ports.instances.instances(Some(InstanceId(11)), 1).await.expect("a page");
    let next = listed.iter().find(|one| one.id > InstanceId(11));
    assert_eq!(behind.first().map(|one| one.id), next.map(|one| one.id));
}

pub async fn a_lease_is_listed_with_its_holder_and_what_is_in_flight(fixture: Fixture) {
    fixture.enqueue(3).await;
    let shard = fixture.store.take(2).await[0].message.shard;
    fixture.advance(LEASE / 3).await;
    let ports = &fixture.rival.ports;
    let of_queue = ports.instances.leases_of(fixture.queue()).await.expect("a list");
    let [lease] = of_queue.as_slice() else { panic!("{of_queue:?}") };
    assert_eq!((&lease.queue, lease.shard, lease.in_flight), (fixture.queue(), shard, 2));
    assert_eq!(lease.holder.as_deref(), Some("instance-11"));
    assert_eq!(lease.ends_in.map(|left| left.as_secs()), Some(20));
    let shown = ports.releases.lease(fixture.queue(), shard).await.expect("a look").expect("a lease");
    assert_eq!((&shown.lease, shown.oldest.map(|oldest| oldest.as_secs())), (lease, Some(10)));
    let all = ports.instances.leases(None, 10_000).await.expect("a list");
    assert!(all.contains(lease), "{all:?}");
    let behind = Some((fixture.queue().clone(), shard));
    let behind = ports.instances.leases(behind, 10_000).await.expect("a list");
    assert!(behind.iter().all(|other| other.queue > *fixture.queue()), "{behind:?}");
    let other = QueueName::new("stays-empty").expect("a name");
    assert_eq!(ports.instances.leases_of(&other).await.expect("a list"), []);
    assert_eq!(ports.releases.lease(&other, shard).await.expect("a look"), None);
}

/// Guard: the next page of locks begins right after its key | adapters/sea-orm/src/locks/list.rs
/// `list_locks`: `\u{2}` after the key
pub async fn locks_are_listed_by_key_and_released_by_the_fence_that_is_shown(fixture: Fixture) {
    let key = |name: &str| format!("{}/{name}", fixture.queue());
    let before = key("");
    for name in ["a", "a\u{1}", "b"] {
        take(&fixture.store, &key(name)).await.expect("the lock is free");
    }
    fixture.advance(LEASE / 3).await;
    let page = list(&fixture.rival, before.clone(), 2).await;
    let keys: Vec<_> = page.iter().map(|lock| lock.key.clone()).collect();
    assert_eq!(keys, [key("a"), key("a\u{1}")]);
    assert_eq!(page[0].ends_in.map(|left| left.as_secs()), Some(20));
    assert_eq!(list(&fixture.rival, key("a"), 1).await[0].key, key("a\u{1}"), "the next key is not left out");
    assert_eq!(list(&fixture.rival, key("a\u{1}"), 1).await[0].key, key("b"));
    let shown = |lock: &LockListed| LockGuard { key: lock.key.clone(), fence: lock.fence };
    assert!(fixture.rival.ports.locks.release(shown(&page[0])).await.expect("release"));
    assert_eq!(list(&fixture.rival, before.clone(), 1).await[0].ends_in, None);
    let held = take(&fixture.rival, &key("a")).await.expect("it was released");
    assert!(
        !fixture.rival.ports.locks.release(shown(&page[0])).await.expect("release"),
        "it is another one's"
    );
    let page = list(&fixture.store, before, 1).await;
    assert_eq!((page[0].fence, page[0].ends_in), (held.fence, Some(LEASE)));
}

async fn take(instance: &Instance, key: &str) -> Option<LockGuard> {
    let lease = Lease::new(LEASE).expect("a lease");
    instance.ports.locks.try_acquire(key, lease).await.expect("try to acquire")
}

async fn list(instance: &Instance, after: String, limit: u32) -> Vec<LockListed> {
    instance.ports.lock_list.locks(Some(after), limit).await.expect("a list")
}
