use std::{sync::Arc, time::Duration};

use claimstream::Compose;
use claimstream_domain::{
    Claimed, Disposition, MessageId, NewMessage, Settled, Settlement, Shard, ShardCount,
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, StoreTimer, Strategy};
use uuid::Uuid;

use crate::{
    Fixture, Instance, Ports,
    backend::SeaOrmBackend,
    fixture::{Command, Cost, StillTimer, Wire},
};

/// An outbox whose wire counts what it is sent.
pub(super) struct Measured {
    pub(super) outbox: SeaOrmOutbox,
    pub(super) instance: Instance,
    wire: Wire,
    options: OpenOptions,
}

impl Measured {
    pub(super) const SHARDS: u16 = 8;
    /// So often work is done and counted. The first counts are left out, because statements are prepared then and
    /// connections opened; of the others the median counts, because a connection may go back to its pool in one of them.
    pub(super) const ROUNDS: usize = 7;
    const WARM_UP: usize = 2;
    /// Nothing follows what has been followed by nothing for so long.
    const QUIET: Duration = Duration::from_millis(40);

    pub(super) async fn on(backend: &SeaOrmBackend) -> Self {
        let shards = ShardCount::new(Self::SHARDS).expect("a count");
        let url = backend.database_of(shards).await.expect("a database");
        let wire = Wire::to(&url).await.expect("a port");
        Self::open(wire, OpenOptions { shards, ..backend.options() }).await
    }

    /// The same database, by a timer that does not go on: what is done every few seconds is done once.
    pub(super) async fn without_time(&self) -> Self {
        let wire = Wire::to(&self.wire.url).await.expect("a port");
        let timer = StoreTimer::new(Arc::new(StillTimer::default()));
        Self::open(wire, OpenOptions { timer, ..self.options.clone() }).await
    }

    async fn open(wire: Wire, options: OpenOptions) -> Self {
        let outbox = SeaOrmOutbox::open(&wire.url, options.clone()).await.expect("open");
        let instance = Instance::new(1, Ports::of(outbox.clone()), Fixture::fresh_queue(), 20);
        Self { outbox, instance, wire, options }
    }

    pub(super) fn strategy(&self) -> Strategy {
        self.outbox.strategy()
    }

    /// Does work, and tells what is sent for it and after it.
    pub(super) async fn count<T>(&self, work: impl Future<Output = T>) -> (T, Vec<Command>) {
        self.wire.commands.take();
        let done = work.await;
        (done, self.sent().await)
    }

    async fn sent(&self) -> Vec<Command> {
        let mut sent = usize::MAX;
        while sent != self.wire.commands.count() {
            sent = self.wire.commands.count();
            tokio::time::sleep(Self::QUIET).await;
        }
        self.wire.commands.take()
    }

    pub(super) fn messages(&self, count: usize) -> Vec<NewMessage> {
        let one = |n| NewMessage::json(self.instance.queue().clone(), &n).expect("a message");
        (0..count).map(one).collect()
    }

    /// Messages of one shard.
    pub(super) fn messages_in(&self, shard: u16, count: usize) -> Vec<NewMessage> {
        let in_it = |id: &MessageId| self.outbox.shards().shard_of(*id, None) == Shard::from_number(shard);
        let ids = std::iter::repeat_with(|| MessageId::new(Uuid::now_v7())).filter(in_it);
        let messages = self.messages(count).into_iter().zip(ids);
        messages.map(|(message, id)| NewMessage { id, ..message }).collect()
    }

    pub(super) async fn acknowledge(&self, claimed: &[Claimed]) {
        let done = |c: &Claimed| Settlement {
            receipt: c.receipt.clone(),
            disposition: Disposition::Done { emit: vec![] },
        };
        let settled = self.instance.settle_all(&claimed.iter().map(done).collect::<Vec<_>>()).await;
        assert!(settled.iter().all(|settled| *settled == Settled::Accepted), "{settled:?}");
    }
}

/// Fails if a step does not cost what it should, as statements and round trips, and says what was sent.
pub(super) fn hold(what: &str, budget: (usize, usize), counts: Vec<Vec<Command>>) {
    let mut counts: Vec<_> = counts.into_iter().skip(Measured::WARM_UP).collect();
    counts.sort_by_key(|sent| Cost::of(sent));
    let sent = counts.swap_remove(counts.len() / 2);
    let cost = Cost::of(&sent);
    println!("budget: {what}: {cost}");
    let held = (cost.statements, cost.round_trips);
    assert_eq!(held, budget, "{what}: {cost} (statements, round trips): {sent:#?}");
}
