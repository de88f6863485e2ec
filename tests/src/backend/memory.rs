use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    PayloadLimit, QueueName, Retention, ShardCount, Timestamp, notification::REQUEST_QUEUE,
};
use claimstream_memory::{MemoryClock, MemoryOptions, MemoryStore};
use claimstream_ports::StoreError;

use super::{LockVenue, NotificationVenue, StepVenue, Sweeper, SweptStage, TimerVenue, Venue};
use crate::{
    Clock, Facts, LockStage, NotificationPorts, NotificationStage, Opener, Ports, Stage, StepStage,
    TimerPorts, TimerStage,
};

/// The reference model.
pub struct MemoryVenue;

#[async_trait]
impl Venue for MemoryVenue {
    fn name(&self) -> &str {
        "memory"
    }

    fn strategy(&self) -> &str {
        "reference"
    }

    async fn stage(&self) -> Result<Stage, StoreError> {
        let queue = Stage::fresh_queue();
        Ok(stage(&open(), queue))
    }

    async fn swept_stage(&self) -> Result<SweptStage, StoreError> {
        let store = open();
        Ok(SweptStage { stage: stage(&store, Stage::fresh_queue()), sweeper: Arc::new(store) })
    }
}

#[async_trait]
impl Sweeper for MemoryStore {
    async fn sweep(&self) {
        self.sweep(Retention::default());
    }
}

#[async_trait]
impl NotificationVenue for MemoryVenue {
    async fn notification_stage(&self) -> Result<NotificationStage, StoreError> {
        let queue = QueueName::new(REQUEST_QUEUE).expect("a valid name");
        let store = open();
        let (one, other) = (ports(store.clone()), ports(store.rival()));
        Ok(NotificationStage { outbox: stage(&store, queue), store: one, rival: other })
    }
}

#[async_trait]
impl StepVenue for MemoryVenue {
    async fn step_stage(&self) -> Result<StepStage, StoreError> {
        let queue = Stage::fresh_queue();
        let store = open();
        let (one, other) = (Arc::new(store.clone()), Arc::new(store.rival()));
        Ok(StepStage { outbox: stage(&store, queue), store: one, rival: other })
    }
}

#[async_trait]
impl TimerVenue for MemoryVenue {
    async fn timer_stage(&self) -> Result<TimerStage, StoreError> {
        let store = open();
        let (one, other) = (TimerPorts::of(store.clone()), TimerPorts::of(store.rival()));
        Ok(TimerStage {
            outbox: stage(&store, Stage::fresh_queue()),
            store: one,
            rival: other,
            repeatable: None,
        })
    }
}

#[async_trait]
impl LockVenue for MemoryVenue {
    async fn lock_stage(&self) -> Result<LockStage, StoreError> {
        let store = open();
        let clock = Arc::new(store.clock().clone());
        Ok(LockStage::new(Arc::new(store.clone()), Arc::new(store.rival()), clock))
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
    MemoryStore::open(MemoryOptions { clock: MemoryClock::manual(Stage::start()), shards, payload_limit })
}

fn stage(store: &MemoryStore, queue: QueueName) -> Stage {
    let clock = Arc::new(store.clock().clone());
    let more = store.clone();
    let opener: Opener = Arc::new(move || {
        let ports = Ports::of(more.rival());
        Box::pin(async { ports })
    });
    Stage::new(Ports::of(store.clone()), Ports::of(store.rival()), queue, facts(), clock).with_opener(opener)
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
        reports: store.clone(),
        transactions: store,
    }
}
