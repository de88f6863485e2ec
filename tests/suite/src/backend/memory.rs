use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    PayloadLimit, QueueName, Retention, ShardCount, Timestamp, notification::REQUEST_QUEUE,
};
use claimstream_memory::{MemoryClock, MemoryOptions, MemoryStore};
use claimstream_ports::StoreError;

use super::{Backend, LockBackend, NotificationBackend, StepBackend, Sweeper, SweptFixture, TimerBackend};
use crate::{
    Clock, Facts, Fixture, LockFixture, NotificationFixture, NotificationPorts, OpenPorts, Ports,
    StepFixture, TimerFixture, TimerPorts,
    suite::Need::{
        self, Claims, Locks, Notifications, ParallelWrites, Settlements, Sharing, SmallPayload, Steps, Store,
        Timers, Unguarded,
    },
};

/// The reference model.
pub struct MemoryBackend;

#[async_trait]
impl Backend for MemoryBackend {
    fn name(&self) -> &str {
        "memory"
    }

    fn strategy(&self) -> &str {
        "reference"
    }

    fn has(&self) -> &[Need] {
        &[
            Claims,
            Settlements,
            Store,
            Unguarded,
            Sharing,
            ParallelWrites,
            SmallPayload,
            Notifications,
            Steps,
            Timers,
            Locks,
        ]
    }

    async fn fixture(&self) -> Result<Fixture, StoreError> {
        let queue = Fixture::fresh_queue();
        Ok(fixture(&open(), queue))
    }

    async fn swept_fixture(&self) -> Result<SweptFixture, StoreError> {
        let store = open();
        Ok(SweptFixture { fixture: fixture(&store, Fixture::fresh_queue()), sweeper: Arc::new(store) })
    }
}

#[async_trait]
impl Sweeper for MemoryStore {
    async fn sweep(&self) {
        self.sweep(Retention::default());
        self.sweep_requests(Retention::default());
    }
}

#[async_trait]
impl NotificationBackend for MemoryBackend {
    async fn notification_fixture(&self, _: bool) -> Result<NotificationFixture, StoreError> {
        let queue = QueueName::new(REQUEST_QUEUE).expect("a valid name");
        let store = open();
        let (one, other) = (ports(store.clone()), ports(store.rival()));
        let erasing = Arc::new(store.clone());
        Ok(NotificationFixture { outbox: fixture(&store, queue), store: one, rival: other, erasing })
    }
}

#[async_trait]
impl StepBackend for MemoryBackend {
    async fn step_fixture(&self, _: bool) -> Result<StepFixture, StoreError> {
        let queue = Fixture::fresh_queue();
        let store = open();
        let (one, other) = (Arc::new(store.clone()), Arc::new(store.rival()));
        let shown = Arc::new(store.clone());
        Ok(StepFixture { outbox: fixture(&store, queue), store: one, rival: other, shown })
    }
}

#[async_trait]
impl TimerBackend for MemoryBackend {
    async fn timer_fixture(&self, _: bool) -> Result<TimerFixture, StoreError> {
        let store = open();
        let (one, other) = (TimerPorts::of(store.clone()), TimerPorts::of(store.rival()));
        Ok(TimerFixture {
            outbox: fixture(&store, Fixture::fresh_queue()),
            store: one,
            rival: other,
            repeatable: None,
        })
    }
}

#[async_trait]
impl LockBackend for MemoryBackend {
    async fn lock_fixture(&self) -> Result<LockFixture, StoreError> {
        let store = open();
        let clock = Arc::new(store.clock().clone());
        Ok(LockFixture::new(Arc::new(store.clone()), Arc::new(store.rival()), clock))
    }
}

#[async_trait]
impl Clock for MemoryClock {
    fn now(&self) -> Timestamp {
        self.now()
    }

    async fn advance(&self, by: Duration) {
        self.advance(by);
    }
}

fn open() -> MemoryStore {
    let Facts { shards, payload_limit } = facts();
    MemoryStore::open(MemoryOptions { clock: MemoryClock::manual(Fixture::start()), shards, payload_limit })
}

fn fixture(store: &MemoryStore, queue: QueueName) -> Fixture {
    let clock = Arc::new(store.clock().clone());
    let more = store.clone();
    let open_ports: OpenPorts = Arc::new(move || {
        let ports = Ports::of(more.rival());
        Box::pin(async { ports })
    });
    Fixture::new(Ports::of(store.clone()), Ports::of(store.rival()), queue, facts(), clock)
        .with_open_ports(open_ports)
}

fn facts() -> Facts {
    Facts {
        shards: ShardCount::new(4).expect("a shard count"),
        payload_limit: PayloadLimit::for_packet(PayloadLimit::MARGIN + 100_000),
    }
}

fn ports(store: MemoryStore) -> NotificationPorts {
    let store = Arc::new(store);
    NotificationPorts {
        requests: store.clone(),
        messages: store.clone(),
        attempts: store.clone(),
        rates: store.clone(),
        reports: store.clone(),
        in_app: store.clone(),
        digests: store.clone(),
        list: store.clone(),
        preferences: store.clone(),
        directory: store.clone(),
        people: store.clone(),
        suppressions: store.clone(),
        receipts: store.clone(),
        templates: store.clone(),
        transactions: store,
    }
}
