use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use claimstream_domain::{QueueName, Settlement, Shard};
use claimstream_ports::StoreError;
use sea_orm::{ConnAcquireErr, DbErr};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::hold::{Hold, Seen};
use crate::{
    classify::classify,
    gather::Gather,
    held::Held,
    unit::{Store, in_time},
};

/// The first place in the lines of some shards: nobody else of this process writes there, until it is dropped.
///
/// Work in a shard takes three things, in this order: the first place in the shard's line, a connection, and the books
/// ([`Hold`]). A line is waited for with empty hands; the connection by the first in line alone, who is therefore served by
/// the next one that comes free; and the books are open only to somebody who has a connection, so that no lock is held
/// while a connection is waited for. Other looks into the books last for a moment, and wait for nothing meanwhile.
pub(super) struct Turn(#[expect(dead_code, reason = "it is kept, not read")] Vec<OwnedMutexGuard<()>>);

/// A shard of a queue.
pub(super) type Place = (QueueName, Shard);

/// What is done and waits to be ended in one shard, while something else is being ended there; the answer says whether
/// all of a write was still ours.
pub(crate) type Finishing = Gather<Settlement, bool>;

/// The lines and books of all shards that one outbox has to do with.
#[derive(Default)]
pub(crate) struct Holds(std::sync::Mutex<HashMap<Place, Desk>>);

#[derive(Default)]
struct Desk {
    line: Arc<Mutex<()>>,
    hold: Arc<Mutex<Hold>>,
    finishing: Arc<Finishing>,
    /// What a look has found while somebody was at work here.
    seen: Option<Seen>,
}

impl Store {
    /// Waits until it is our turn in all of the places, and for a connection; one that `on` has already is put back before
    /// anything is waited for. The places have one order for everybody.
    pub(super) async fn turn(
        &self,
        operation: &'static str,
        places: &[Place],
        on: &Held<'_>,
    ) -> Result<Turn, StoreError> {
        let turn = match self.holds.turn_at_once(places) {
            Some(turn) => turn,
            None => {
                on.rest();
                let turn = tokio::time::timeout(self.acquire_timeout, self.holds.turn(places)).await;
                let too_long = || DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
                turn.map_err(|_| classify(operation, too_long()))?
            }
        };
        in_time(operation, on.connect(), classify).await?;
        Ok(turn)
    }
}

impl Holds {
    /// The books of a shard; a write of the lease row takes its [`Turn`] too.
    pub(crate) async fn books(&self, queue: &QueueName, shard: Shard) -> OwnedMutexGuard<Hold> {
        let mut hold = self.with(queue, shard, |desk| Arc::clone(&desk.hold)).lock_owned().await;
        if let Some(seen) = self.with(queue, shard, |desk| desk.seen.take()) {
            hold.found(seen);
        }
        hold
    }

    /// Notes what a look has found; while the books are open elsewhere it waits for the next call that opens them.
    pub(crate) fn saw(&self, queue: &QueueName, shard: Shard, seen: Seen) {
        self.with(queue, shard, |desk| match desk.hold.try_lock() {
            Ok(mut hold) => hold.found(seen),
            Err(_) => desk.seen = Some(seen),
        });
    }

    pub(crate) fn finishing(&self, queue: &QueueName, shard: Shard) -> Arc<Finishing> {
        self.with(queue, shard, |desk| Arc::clone(&desk.finishing))
    }

    async fn turn(&self, places: &[Place]) -> Turn {
        let mut first = Vec::with_capacity(places.len());
        for (queue, shard) in places {
            first.push(self.line(queue, *shard).lock_owned().await);
        }
        Turn(first)
    }

    fn turn_at_once(&self, places: &[Place]) -> Option<Turn> {
        let at_once = |(queue, shard): &Place| self.line(queue, *shard).try_lock_owned().ok();
        places.iter().map(at_once).collect::<Option<_>>().map(Turn)
    }

    fn line(&self, queue: &QueueName, shard: Shard) -> Arc<Mutex<()>> {
        self.with(queue, shard, |desk| Arc::clone(&desk.line))
    }

    fn with<T>(&self, queue: &QueueName, shard: Shard, look: impl FnOnce(&mut Desk) -> T) -> T {
        let mut desks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(desks.entry((queue.clone(), shard)).or_default())
    }
}
