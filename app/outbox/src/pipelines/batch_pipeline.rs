use std::{fmt, sync::Arc, time::Duration};

use claimstream_ports::BatchHandler;

use super::{
    engine::{Engine, Handlers},
    run::Run,
};
use crate::{
    error::RelayError,
    report::{PipelineMonitor, PipelineReport},
    stream::{Claims, Linger},
};

/// Hands the messages of one queue to a [`BatchHandler`], those together that were claimed together, and settles each as its verdict
/// says.
///
/// It runs, renews, settles and ends as a [`Pipeline`](crate::pipelines::pipeline::Pipeline) does, and counts
/// [`prefetch`](crate::config::RelayConfig::prefetch) in messages without a verdict. In addition:
///
/// * A verdict counts when it is given: it is settled at once, whatever the handler does afterwards.
/// * Messages without a verdict when the handler returns, panics, or has taken longer than
///   [`handle_timeout`](crate::config::RelayConfig::handle_timeout), are handed to it again, each alone, one after another, within the
///   same attempt. The attempt fails if a message gets no verdict alone either. So one bad message costs the others of its batch
///   no attempt.
/// * A message that has failed before, or was cut off, is in no batch with messages that come for the first time.
/// * A message whose lease is lost gets no verdict any more; the handler keeps the others, and is dropped if there are none.
///
/// ```no_run
/// use async_trait::async_trait;
/// use claimstream::{BatchHandler, Claimed, Relay, Verdict, Verdicts};
///
/// struct Index;
///
/// #[async_trait]
/// impl BatchHandler for Index {
///     async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
///         let known = vec![true; batch.len()]; // one call of a search engine for all of them
///         for (index, known) in known.into_iter().enumerate() {
///             verdicts.give(index, if known { Verdict::ack() } else { Verdict::nack("not taken") });
///         }
///     }
/// }
///
/// # async fn shutdown() {}
/// # async fn run(relay: Relay) -> Result<(), claimstream::RelayError> {
/// let report = relay.batch_pipeline("orders", Index)?.size(50).run_until(shutdown()).await?;
/// println!("{} indexed", report.acked);
/// # Ok(())
/// # }
/// ```
#[must_use = "a pipeline does nothing unless it is run"]
pub struct BatchPipeline {
    claims: Claims,
    handler: Arc<dyn BatchHandler>,
    linger: Linger,
    concurrency: u32,
    /// `None` stands for as many as the batches have that may be handled at once.
    room: Option<u32>,
}

impl BatchPipeline {
    /// So many batches at once let one be handled while another waits for something; more of them would be smaller.
    const CONCURRENCY: u32 = 4;

    pub(crate) fn new(claims: Claims, handler: Arc<dyn BatchHandler>) -> Self {
        let config = &claims.settler().setup.config;
        let (linger, concurrency) = (Linger::of(config), Self::CONCURRENCY.min(config.prefetch));
        Self { claims, handler, linger, concurrency, room: None }
    }

    /// The most messages of a batch, at least 1; [`settle_batch`](crate::config::RelayConfig::settle_batch) unless set here.
    pub fn size(mut self, messages: u32) -> Self {
        self.linger.size = messages;
        self
    }

    /// How long messages linger if they are fewer than a batch has at most, shorter than a third of the lease; not at
    /// all unless set here. They wait in any case while as many batches are handled as [`concurrency`](Self::concurrency) allows.
    pub fn age(mut self, age: Duration) -> Self {
        self.linger.age = age;
        self
    }

    /// How many batches are handled at once, at least 1 and at most the [`prefetch`](crate::config::RelayConfig::prefetch); 4 unless set
    /// here.
    pub fn concurrency(mut self, batches: u32) -> Self {
        self.concurrency = batches;
        self
    }

    /// The most messages without a verdict that the handler has at once, over all batches; at least 1 and at most the
    /// [`prefetch`](crate::config::RelayConfig::prefetch). It is [`size`](Self::size) times [`concurrency`](Self::concurrency) unless set here.
    ///
    /// A batch is cut to the room that is left, and begins as soon as there is room for one message. A message leaves room when
    /// its verdict is given or its lease is lost. One that waits to be handled alone keeps its room.
    pub fn room(mut self, messages: u32) -> Self {
        self.room = Some(messages);
        self
    }

    /// Sets [`size`](Self::size), [`concurrency`](Self::concurrency) and [`room`](Self::room) to so many messages, for a handler that
    /// works on the messages of a batch at the same time.
    ///
    /// A message that hangs then takes one place, and no batch waits for it: others begin in all the places that are left.
    pub fn at_once(self, messages: u32) -> Self {
        self.size(messages).concurrency(messages).room(messages)
    }

    /// Shows how the pipeline stands while it runs; for health checks.
    pub fn monitor(&self) -> PipelineMonitor {
        PipelineMonitor::new(Arc::clone(self.claims.health()))
    }

    /// Runs until `shutdown` is ready, then ends in order and says what became of the messages, as
    /// [`Pipeline::run_until`](crate::pipelines::pipeline::Pipeline::run_until) does.
    ///
    /// Batches that are being handled have the [`drain`](crate::config::RelayConfig::drain) time, and so have messages that are handled
    /// alone after their batch.
    ///
    /// # Errors
    ///
    /// A setting was refused, before anything was claimed. Nothing that the store answers ends a pipeline.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<PipelineReport, RelayError> {
        let Self { claims, handler, linger, concurrency, room } = self;
        let setup = &claims.settler().setup;
        setup.config.check_concurrency(concurrency)?;
        linger.check(&setup.config)?;
        room.map_or(Ok(()), |room| setup.config.check_within_prefetch("room", room))?;
        let room =
            room.map_or((linger.size as usize).saturating_mul(concurrency as usize), |room| room as usize);
        let engine = Engine::new(Handlers::Batch(handler, linger), (concurrency as usize, room), setup);
        Ok(Run::new(claims, engine).until(shutdown).await)
    }
}

impl fmt::Debug for BatchPipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchPipeline")
            .field("queue", self.claims.queue())
            .field("size", &self.linger.size)
            .field("concurrency", &self.concurrency)
            .field("room", &self.room)
            .finish_non_exhaustive()
    }
}
