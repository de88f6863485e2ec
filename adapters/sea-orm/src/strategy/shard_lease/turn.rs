use tokio::sync::OwnedMutexGuard;

/// The exclusive right of one call to write in some shards: no other call of this process writes there until it is dropped.
///
/// A call needs three things to work in a shard, and takes them in this order: its turn there, a connection, and the lock of
/// the [`ShardState`](super::shard_state::ShardState). It waits for a turn without a connection. Only the call that has the turn
/// waits for a connection, so the next connection that comes free serves it. It locks the state only when it has a connection,
/// so no lock is held while a connection is waited for. Other looks at the state last for a moment, and wait for nothing
/// meanwhile.
pub(crate) struct Turn(#[expect(dead_code, reason = "it is kept, not read")] Vec<OwnedMutexGuard<()>>);

impl Turn {
    pub(crate) fn of(guards: Vec<OwnedMutexGuard<()>>) -> Self {
        Self(guards)
    }
}
