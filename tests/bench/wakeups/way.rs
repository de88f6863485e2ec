use std::sync::Arc;

use claimstream::LocalWakeup;
use claimstream_binlog::{BinlogPlace, BinlogWakeup};
use claimstream_ports::Wakeup;
use claimstream_redis::{RedisPlace, RedisWakeup};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// What wakes a relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// The server's binary log.
    Binlog,
    /// Its writers, through a Redis.
    Redis,
    /// Nothing but its own polls.
    Nothing,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Binlog, Self::Redis, Self::Nothing];

    /// As an argument of this program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Binlog => "binlog",
            Self::Redis => "redis",
            Self::Nothing => "nothing",
        }
    }

    /// The wakeup of a relay.
    pub(crate) fn of_relay(self, url: &str, redis: &str) -> Result<Option<Arc<dyn Wakeup>>, Failure> {
        Ok(match self {
            Self::Binlog => {
                let waits = Arc::new(LocalWakeup::new());
                Some(Arc::new(BinlogWakeup::new(BinlogPlace::new(url)?, waits)))
            }
            Self::Redis => Some(Arc::new(RedisWakeup::new(RedisPlace::new(redis)?))),
            Self::Nothing => None,
        })
    }

    /// The wakeup of a writer, which has something to do only where no log speaks for it.
    pub(crate) fn of_writer(self, url: &str, redis: &str) -> Result<Option<Arc<dyn Wakeup>>, Failure> {
        if self == Self::Redis { self.of_relay(url, redis) } else { Ok(None) }
    }
}
