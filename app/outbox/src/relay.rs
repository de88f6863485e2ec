use std::{fmt, sync::Arc};

use claimstream_domain::{InstanceId, Invalid, Owner, QueueName};
use claimstream_ports::{BatchHandler, Handler, LockingStrategy, Settlements, Telemetry, Timer, Wakeup};
use uuid::Uuid;

use crate::{
    concurrency::ConcurrencyShare,
    config::RelayConfig,
    error::RelayError,
    pipelines::{BatchPipeline, Pipeline},
    report::DeadLetterEvent,
    setup::Setup,
    stream::Claims,
};

/// What empties the outbox: it claims messages queue by queue and settles them.
///
/// A relay is one instance among any number that work on the same tables; no two of them hold the same message at the same
/// time. It does nothing by itself: poll the [`Claims`] of a queue or run a [`Pipeline`]. It may have many of both at the
/// same time, and each counts its own [`prefetch`](RelayConfig::prefetch).
#[derive(Clone)]
pub struct Relay {
    setup: Setup,
}

impl Relay {
    /// A relay on a store that can both claim and settle.
    ///
    /// The settings are checked when they are put to use, or by [`RelayConfig::check`] when it suits better.
    pub fn new<S>(store: Arc<S>, timer: impl Timer + 'static, config: RelayConfig) -> Self
    where
        S: LockingStrategy + Settlements + 'static,
    {
        let strategy: Arc<dyn LockingStrategy> = Arc::clone(&store) as _;
        Self::from_ports(strategy, store, Arc::new(timer), config)
    }

    /// A relay on ports that were chosen one by one, for example by configuration.
    pub fn from_ports(
        strategy: Arc<dyn LockingStrategy>,
        settlements: Arc<dyn Settlements>,
        timer: Arc<dyn Timer>,
        config: RelayConfig,
    ) -> Self {
        let setup = Setup {
            strategy,
            settlements,
            timer,
            wakeup: None,
            telemetry: None,
            config,
            owner: Owner::of_process(fresh_instance(), std::process::id()),
            on_dead_letter: None,
            drawn: Arc::default(),
            share: None,
        };
        Self { setup }
    }

    /// Lets a wakeup cut idle waits short, which last up to [`idle_max`](claimstream_domain::Pacing::idle_max), 5 s; and wakes, by the same wakeup, the queues into which settlements emit children.
    pub fn with_wakeup(mut self, wakeup: Arc<dyn Wakeup>) -> Self {
        self.setup.wakeup = Some(wakeup);
        self
    }

    /// Calls `hook` with each message that this relay makes a dead letter, once that is durable; for counters and alarms.
    ///
    /// It is called where the relay is polled, so it must not block; a panic in it is caught and traced. It is not called if
    /// the process dies before; what must not be missed is read from
    /// [`RelayConfig::dead_letter_events`](crate::config::RelayConfig::dead_letter_events).
    pub fn on_dead_letter(mut self, hook: impl Fn(&DeadLetterEvent) + Send + Sync + 'static) -> Self {
        self.setup.on_dead_letter = Some(Arc::new(hook));
        self
    }

    /// Lets `telemetry` count and time what this relay does, for metrics. What the store does by itself, such as transactions that
    /// begin again, is measured where the store is opened.
    pub fn with_telemetry(mut self, telemetry: Arc<dyn Telemetry>) -> Self {
        self.setup.telemetry = Some(telemetry);
        self
    }

    /// Lets the pipelines of this relay run no more handlers than there is room for in a limit that it shares with relays on other
    /// databases. Each pipeline keeps its own concurrency besides. Plain streams ignore it.
    pub fn with_share(mut self, share: ConcurrencyShare) -> Self {
        self.setup.share = Some(share);
        self
    }

    /// Names the relay, for example `host/process`, for readers of the table; nothing is decided by it.
    ///
    /// Without a name it is called after the process id. A label that is empty or too long is refused.
    pub fn with_label(mut self, label: &str) -> Result<Self, Invalid> {
        self.setup.owner = Owner::new(self.setup.owner.instance(), label)?;
        Ok(self)
    }

    /// The identity of this relay in the tables: a number that no other run has, and the label.
    pub fn owner(&self) -> &Owner {
        &self.setup.owner
    }

    /// The messages of `queue` as a stream.
    ///
    /// Refuses an invalid queue name and settings that could never work.
    pub fn claims<Q>(&self, queue: Q) -> Result<Claims, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>,
    {
        let queue = queue.try_into()?;
        self.setup.config.check_stream()?;
        Ok(Claims::new(Arc::new(self.setup.clone()), queue))
    }

    /// A pipeline that hands the messages of `queue` to `handler`.
    ///
    /// Refuses an invalid queue name and settings that could never work; the concurrency is looked at when it runs.
    pub fn pipeline<Q>(&self, queue: Q, handler: impl Handler + 'static) -> Result<Pipeline, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>,
    {
        self.shared_pipeline(queue, Arc::new(handler))
    }

    /// A [`pipeline`](Self::pipeline) for a handler that others hold as well, or that was chosen by configuration.
    pub fn shared_pipeline<Q>(&self, queue: Q, handler: Arc<dyn Handler>) -> Result<Pipeline, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>,
    {
        Ok(Pipeline::new(self.claims(queue)?, handler, self.setup.config.concurrency))
    }

    /// A pipeline that hands the messages of `queue` to `handler` in batches.
    ///
    /// Refuses an invalid queue name and settings that could never work; those of the batches are looked at when it runs.
    pub fn batch_pipeline<Q>(
        &self,
        queue: Q,
        handler: impl BatchHandler + 'static,
    ) -> Result<BatchPipeline, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>,
    {
        self.shared_batch_pipeline(queue, Arc::new(handler))
    }

    /// A [`batch_pipeline`](Self::batch_pipeline) for a handler that others hold as well, or that was chosen by configuration.
    pub fn shared_batch_pipeline<Q>(
        &self,
        queue: Q,
        handler: Arc<dyn BatchHandler>,
    ) -> Result<BatchPipeline, RelayError>
    where
        Q: TryInto<QueueName>,
        RelayError: From<Q::Error>,
    {
        Ok(BatchPipeline::new(self.claims(queue)?, handler))
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("owner", &self.setup.owner)
            .field("config", &self.setup.config)
            .finish_non_exhaustive()
    }
}

fn fresh_instance() -> InstanceId {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    InstanceId(high ^ low)
}
