use std::{future::Future, pin::Pin, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::DatabaseConnection;
use tracing::Instrument;

use super::{
    Database, connecting,
    deadline::{self, Bounds},
    store_timer::StoreTimer,
};

type Work<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// Units of work.
impl Database {
    const DEADLINE: Duration = Duration::from_secs(20);
    /// How much longer than a wait for a connection a statement may take at least: one for a lock, and some time to answer.
    const AT_LEAST: Duration = Duration::from_secs(10);

    /// Longer than a wait for a connection and one for a lock: a call that waits for others of this process has met no outage.
    fn deadline(&self) -> Duration {
        Self::DEADLINE.max(self.limits.acquire_timeout + Self::AT_LEAST)
    }

    /// A unit of work, or a part of one, that may also have to wait for other callers.
    pub(crate) async fn waiting<T>(&self, work: impl Future<Output = T>) -> T {
        deadline::within(self.bounds(self.deadline() + self.callers.timeout), work).await
    }

    /// Runs a unit of work as its own task, so that a dropped caller detaches from it and any executor may wait for it.
    pub(crate) fn detached<T, W>(
        &self,
        operation: &'static str,
        work: W,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.detaching().run(operation, work)
    }

    fn bounds(&self, deadline: Duration) -> Bounds {
        Bounds { deadline, moves: self.health.moves.clone(), timer: self.timer().clone() }
    }

    /// Runs units of work as their own tasks, also after this call has ended.
    pub(super) fn detaching(&self) -> Detaching {
        Detaching {
            connections: self.relay.connections.clone(),
            runtime: self.runtime.clone(),
            bounds: self.bounds(self.deadline()),
        }
    }
}

/// Runs units of work as their own tasks.
pub(super) struct Detaching {
    connections: DatabaseConnection,
    runtime: tokio::runtime::Handle,
    bounds: Bounds,
}

impl Detaching {
    /// The work is boxed here: a caller whose future contained it would contain the futures of all its statements, and the
    /// compiler gives up on futures that are nested so deeply.
    pub(super) fn run<T, W>(
        &self,
        operation: &'static str,
        work: W,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let (connections, work) = (self.connections.clone(), Box::pin(work) as Work<T>);
        let (runtime, bounds) = (self.runtime.clone(), self.bounds.clone());
        async move {
            let work = task(connections, bounds.timer.clone(), work);
            match runtime.spawn(deadline::within(bounds, work.in_current_span())).await {
                Ok(done) => done,
                Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, lost)),
            }
        }
    }
}

/// Does the work, and explains its failure.
///
/// To explain is rare, and holds a whole handshake: without its box each task would be as large, and the runtime moves a task
/// several times.
async fn task<T>(connections: DatabaseConnection, timer: StoreTimer, work: Work<T>) -> Result<T, StoreError> {
    match work.await {
        Err(error) => Err(Box::pin(connecting::explained(&connections, &timer, error)).await),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_small() {
        let task = task(DatabaseConnection::default(), StoreTimer::default(), Box::pin(async { Ok(()) }));
        let bytes = size_of_val(&task);
        assert!(bytes < 1024, "{bytes} bytes");
    }
}
