use std::collections::BTreeMap;

use claimstream_domain::{Lease, LockListed, Timestamp, is_due};
use claimstream_ports::LockGuard;

use crate::clock::{after, between};

/// The holders of locks, and the last fence of every key that was ever held.
#[derive(Debug, Default)]
pub(crate) struct Locks(BTreeMap<String, Lock>);

#[derive(Debug)]
struct Lock {
    fence: u64,
    /// When the lock lapses; nothing if it has been given back.
    until: Option<Timestamp>,
}

impl Locks {
    /// A guard, unless the lock is held.
    pub(crate) fn try_acquire(&mut self, key: &str, lease: Lease, now: Timestamp) -> Option<LockGuard> {
        let lock = self.0.entry(key.to_owned()).or_insert(Lock { fence: 0, until: None });
        if lock.is_held(now) {
            return None;
        }
        lock.fence += 1;
        lock.until = Some(after(now, lease.duration()));
        Some(LockGuard { key: key.to_owned(), fence: lock.fence })
    }

    /// Moves the end of a lock that this guard holds; whether it does.
    pub(crate) fn extend(&mut self, guard: &LockGuard, lease: Lease, now: Timestamp) -> bool {
        let until = after(now, lease.duration());
        self.held(guard, now).map(|lock| lock.until = Some(until)).is_some()
    }

    /// Gives back a lock that this guard holds; whether it does.
    pub(crate) fn release(&mut self, guard: &LockGuard, now: Timestamp) -> bool {
        self.held(guard, now).map(|lock| lock.until = None).is_some()
    }

    /// The locks behind a key, by key.
    pub(crate) fn list(&self, behind: Option<&str>, limit: u32, now: Timestamp) -> Vec<LockListed> {
        let behind = self.0.iter().filter(|(key, _)| behind.is_none_or(|behind| key.as_str() > behind));
        let listed = behind.map(|(key, lock)| {
            let until = lock.until.filter(|_| lock.is_held(now));
            LockListed {
                key: key.clone(),
                fence: lock.fence,
                ends_in: until.map(|until| between(now, until)),
            }
        });
        listed.take(limit as usize).collect()
    }

    /// The lock, if this guard still holds it.
    fn held(&mut self, guard: &LockGuard, now: Timestamp) -> Option<&mut Lock> {
        self.0.get_mut(&guard.key).filter(|lock| lock.fence == guard.fence && lock.is_held(now))
    }
}

impl Lock {
    fn is_held(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| !is_due(until, now))
    }
}
