use std::{future::Future, time::Duration};

use claimstream_ports::{Measured, StoreError, StoreErrorKind};

use super::{Database, classify::is_outage};

/// Repeats of what may go well the next time.
impl Database {
    const TRANSIENT_TRIES: u32 = 6;
    const OUTAGE_TRIES: u32 = 7;

    /// Repeats a whole transaction that met a deadlock or a lock wait, a few times, after short waits that differ.
    pub(crate) async fn restarting<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut transaction: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match transaction().await {
                Err(error) if may_restart(&error) && tries < Self::TRANSIENT_TRIES => {
                    tracing::debug!(operation = error.operation(), tries, %error, "restart");
                    self.measure(Measured::Restarted { operation: error.operation() });
                    self.timer().sleep(restart_wait(tries)).await;
                }
                Err(error) => {
                    self.note_trouble(&error);
                    return Err(error);
                }
                done => return done,
            }
        }
    }

    /// The same on connections of those that callers have. The error of one that waited for such a connection without success is
    /// `Transient` and names the setting, and the wait is not repeated.
    pub(crate) async fn restarting_beside<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        operation: &'static str,
        transaction: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        // Boxed: the compiler gives up on futures that are nested more deeply.
        match self.waiting(Box::pin(self.restarting(transaction))).await {
            Err(error) => Err(self.none_to_spare(operation, error).await),
            done => done,
        }
    }

    /// Asks what became of something although the store may be away for a moment: for about three seconds.
    pub(crate) async fn asking_back<T, F: Future<Output = Result<T, StoreError>>>(
        &self,
        mut question: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.restarting(&mut question).await {
                Err(error) if error.kind() == StoreErrorKind::Unavailable && tries < Self::OUTAGE_TRIES => {
                    self.timer().sleep(Duration::from_millis(25 << tries)).await;
                }
                done => return done,
            }
        }
    }

    /// The next connection may lead to another server, and those in the pool may lead nowhere.
    pub(crate) fn note_trouble(&self, error: &StoreError) {
        self.clock.forget();
        if is_outage(error) {
            self.health.note_outage();
        }
    }
}

/// Other calls of this process were at work for as long as this call waited for its turn. It is not repeated: it has waited.
#[derive(Debug, thiserror::Error)]
#[error("other calls of this process were at work in {place} for {timeout:?}")]
pub(crate) struct Busy {
    /// Where they were at work, for the error's text.
    pub(crate) place: String,
    /// How long the call has waited.
    pub(crate) timeout: Duration,
}

/// The call would end a message whose predecessor has not ended. It is not repeated: the caller may call again.
#[derive(Debug, thiserror::Error)]
#[error("{before} has to end first")]
pub(crate) struct Early {
    /// The name of what has to end first.
    pub(crate) before: String,
}

/// Whether the call may succeed in a moment. A call that waited for its turn without success has waited long enough.
fn may_restart(error: &StoreError) -> bool {
    error.kind() == StoreErrorKind::Transient
        && !error.get_ref().is::<Busy>()
        && !error.get_ref().is::<Early>()
}

fn restart_wait(tries: u32) -> Duration {
    let jitter = uuid::Uuid::now_v7().as_u64_pair().1 % 4;
    Duration::from_millis((1 << tries.min(6)) + jitter)
}
