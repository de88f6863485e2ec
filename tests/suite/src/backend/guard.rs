use std::sync::Arc;

use claimstream::LockGuarded;
use claimstream_ports::DistributedLock;
use claimstream_redis::RedisPlace;
use claimstream_sea_orm::SeaOrmOutbox;

use super::{RedisBackend, lock_in};
use crate::Ports;

/// The lock that stands before the claims of a backend.
#[derive(Clone, Debug)]
pub enum Guard {
    /// A row of the database.
    Database,
    /// A key in the Redis at this URL.
    Redis(String),
}

impl Guard {
    /// A key in the Redis at `url`.
    pub fn redis(url: &str) -> Self {
        Self::Redis(url.to_owned())
    }

    /// The name of a backend behind it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Database => "lock:db",
            Self::Redis(_) => "lock:redis",
        }
    }

    /// The lock of one fixture.
    pub(super) fn lock(&self) -> Lock {
        match self {
            Self::Database => Lock::Database,
            Self::Redis(url) => Lock::Redis(RedisBackend::fresh_place(url).0),
        }
    }
}

/// What the instances of one fixture have before their claims.
#[derive(Clone)]
pub(super) enum Lock {
    None,
    Database,
    /// They meet in this place.
    Redis(RedisPlace),
}

impl Lock {
    /// The ports of an instance behind it.
    pub(super) fn before(&self, outbox: &SeaOrmOutbox) -> Ports {
        let ports = Ports::of(outbox.clone());
        let lock: Arc<dyn DistributedLock> = match self {
            Self::None => return ports,
            Self::Database => Arc::new(outbox.clone()),
            Self::Redis(place) => Arc::new(lock_in(place.clone())),
        };
        Ports { claiming: Arc::new(LockGuarded::new(ports.claiming.clone(), lock)), ..ports }
    }
}
