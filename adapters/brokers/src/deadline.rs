use std::{future::Future, sync::Arc, time::Duration};

use claimstream_ports::Timer;

/// A moment of a timer after which nothing more is waited for.
#[derive(Clone)]
pub(crate) struct Deadline {
    at: Duration,
    timer: Arc<dyn Timer>,
}

impl Deadline {
    /// The moment that comes so long after now.
    pub(crate) fn after(limit: Duration, timer: &Arc<dyn Timer>) -> Self {
        Self { at: timer.now().saturating_add(limit), timer: Arc::clone(timer) }
    }

    /// What the work returns, or nothing if the moment comes before that. Work that is done when both are seen together counts.
    pub(crate) async fn within<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.passes() => None,
        }
    }

    async fn passes(&self) {
        self.timer.sleep(self.at.saturating_sub(self.timer.now())).await;
    }

    /// Whether the moment has come.
    pub(crate) fn has_passed(&self) -> bool {
        self.timer.now() >= self.at
    }
}
