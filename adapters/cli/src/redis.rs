use std::sync::Arc;

use claimstream_ports::{DistributedLock, Wakeup};
use claimstream_redis::{RedisLock, RedisWakeup};

pub(crate) use claimstream_redis::RedisPlace;

/// The lock on a Redis.
pub(crate) fn lock_on(place: &RedisPlace) -> Arc<dyn DistributedLock> {
    Arc::new(RedisLock::new(place.clone()))
}

/// What a Redis wakes.
pub(crate) fn wakeup_on(place: &RedisPlace) -> Arc<dyn Wakeup> {
    Arc::new(RedisWakeup::new(place.clone()))
}
