mod handler;
mod inbox;
mod notifications;
mod pipeline;
mod saga;
mod stream;
mod tcc;
mod timers;

use std::{fmt, str::FromStr};

use futures::future::BoxFuture;

use crate::sim::Sim;

/// What a schedule runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum World {
    /// Streams of claims, settled one by one.
    Stream,
    /// Pipelines that handle messages one by one.
    Pipeline,
    /// Pipelines that handle messages in batches.
    Batches,
    /// Effects that happen once, however often their messages come.
    Inbox,
    /// Sagas over two databases.
    Saga,
    /// TCC transactions over two databases.
    Tcc,
    /// Timer events whose schedule changes.
    Timers,
    /// Notification requests, to providers that fail.
    Notifications,
}

impl World {
    /// Every world.
    pub const ALL: &[Self] = &[
        Self::Stream,
        Self::Pipeline,
        Self::Batches,
        Self::Inbox,
        Self::Saga,
        Self::Tcc,
        Self::Timers,
        Self::Notifications,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Pipeline => "pipeline",
            Self::Batches => "batches",
            Self::Inbox => "inbox",
            Self::Saga => "saga",
            Self::Tcc => "tcc",
            Self::Timers => "timers",
            Self::Notifications => "notifications",
        }
    }

    pub(crate) fn script(self, sim: Sim) -> BoxFuture<'static, ()> {
        match self {
            Self::Stream => Box::pin(stream::run(sim)),
            Self::Pipeline => Box::pin(pipeline::run(sim, false)),
            Self::Batches => Box::pin(pipeline::run(sim, true)),
            Self::Inbox => Box::pin(inbox::run(sim)),
            Self::Saga => Box::pin(saga::run(sim)),
            Self::Tcc => Box::pin(tcc::run(sim)),
            Self::Timers => Box::pin(timers::run(sim)),
            Self::Notifications => Box::pin(notifications::run(sim)),
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for World {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.iter().map(|world| world.name()).collect::<Vec<_>>().join(", ");
        let found = Self::ALL.iter().copied().find(|world| world.name() == name);
        found.ok_or_else(|| format!("no world is called {name:?}; there are {}", known()))
    }
}
