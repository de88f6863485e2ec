use std::{fmt, sync::Arc};

use claimstream_ports::{DistributedLock, Wakeup};

use crate::not_built::not_built;

/// The place of a Redis: there is none, because the program was built without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RedisPlace {}

impl RedisPlace {
    /// Refuses every URL, with the feature that would take it.
    pub fn new(_url: &str) -> Result<Self, String> {
        Err(not_built("locks and wakeups on a Redis", "redis"))
    }
}

impl fmt::Display for RedisPlace {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

pub(crate) fn lock_on(place: &RedisPlace) -> Arc<dyn DistributedLock> {
    match *place {}
}

pub(crate) fn wakeup_on(place: &RedisPlace) -> Arc<dyn Wakeup> {
    match *place {}
}
