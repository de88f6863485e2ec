use std::{fmt, sync::Arc};

use claimstream_ports::Handler;

use super::{
    engine::{Engine, Handlers},
    run::Run,
};
use crate::{
    error::RelayError,
    report::{PipelineMonitor, PipelineReport},
    stream::Claims,
};

/// Hands the messages of one queue to a [`Handler`] and settles each as its verdict says.
///
/// Everything happens inside the one future of [`run_until`](Self::run_until): claims, handlers, renewals of what is
/// running or waiting, settlements in batches, and the shutdown. Only messages that have
/// waited for too long go back meanwhile, by [`Timer::spawn`](claimstream_ports::Timer::spawn). A handler that wants a thread of its own
/// spawns its work and waits for it.
///
/// * At most [`concurrency`](Self::concurrency) handlers run at once.
/// * A handler is not started after its claim's deadline. It is dropped when the lease is lost or the deadline passes
///   because renewals fail, and then nothing is settled for it.
/// * A handler that takes longer than [`handle_timeout`](crate::config::RelayConfig::handle_timeout), 10 minutes by default, is
///   dropped, and that is a failed attempt.
/// * A panic in a handler is a failed attempt.
///
/// ```no_run
/// use claimstream::{Relay, Verdict, handler_fn};
///
/// # async fn deliver(_: claimstream::Message) -> Result<(), std::io::Error> { Ok(()) }
/// # async fn shutdown() {}
/// # async fn run(relay: Relay) -> Result<(), claimstream::RelayError> {
/// let handler = handler_fn(|claimed| async move {
///     match deliver(claimed.message).await {
///         Ok(()) => Verdict::ack(),
///         Err(error) => Verdict::nack(error),
///     }
/// });
/// let report = relay.pipeline("orders", handler)?.concurrency(64).run_until(shutdown()).await?;
/// println!("{} delivered, {} given up", report.acked, report.buried);
/// # Ok(())
/// # }
/// ```
#[must_use = "a pipeline does nothing unless it is run"]
pub struct Pipeline {
    claims: Claims,
    handler: Arc<dyn Handler>,
    concurrency: u32,
}

impl Pipeline {
    pub(crate) fn new(claims: Claims, handler: Arc<dyn Handler>, concurrency: u32) -> Self {
        Self { claims, handler, concurrency }
    }

    /// How many handlers run at once, at least 1 and at most the [`prefetch`](crate::config::RelayConfig::prefetch);
    /// [`RelayConfig::concurrency`](crate::config::RelayConfig::concurrency) unless
    /// set here.
    pub fn concurrency(mut self, concurrency: u32) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Shows how the pipeline stands while it runs; for health checks.
    pub fn monitor(&self) -> PipelineMonitor {
        PipelineMonitor::new(Arc::clone(self.claims.health()))
    }

    /// Runs until `shutdown` is ready, then ends in order and says what became of the messages.
    ///
    /// The order: no more is claimed; messages that have not been started are given back with attempts restored; running handlers
    /// get the [`drain`](crate::config::RelayConfig::drain) time to finish, and are renewed until they have; those that are left
    /// are dropped and their attempts count as failed; all settlements are written. At most 2 s after the drain time it has
    /// ended, also if the store does not answer: a settlement that is not written then counts as unsettled, and its message
    /// comes back when its lease ends.
    ///
    /// The error is a setting that was refused, before anything was claimed. Nothing that the store answers ends a pipeline,
    /// also no error that an operator has to mend, such as a table that is missing: it is traced at the level `error`, shown by
    /// the [`monitor`](Self::monitor), and the pipeline claims again, after waits that grow up to
    /// [`idle_max`](claimstream_domain::Pacing::idle_max). What ends it is `shutdown`, or that its future is dropped.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<PipelineReport, RelayError> {
        let setup = &self.claims.settler().setup;
        setup.config.check_concurrency(self.concurrency)?;
        let concurrency = self.concurrency as usize;
        let engine = Engine::new(Handlers::One(self.handler), (concurrency, concurrency), setup);
        Ok(Run::new(self.claims, engine).until(shutdown).await)
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("queue", self.claims.queue())
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
