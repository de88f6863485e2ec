use std::{sync::Arc, time::Duration};

use claimstream_ports::{Sleep, Timer};
use tokio::time::Instant;

/// Tokio's clock and sleep, by which everything here waits that is given no other timer.
pub(crate) struct TokioTimer(Instant);

impl TokioTimer {
    /// A timer that counts from now on.
    pub(crate) fn shared() -> Arc<dyn Timer> {
        Arc::new(Self(Instant::now()))
    }
}

impl Timer for TokioTimer {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(duration))
    }
}
