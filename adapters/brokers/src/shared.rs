use std::{
    future::Future,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use tokio::sync::Mutex;

/// What all calls use together, such as a connection: the first call that needs it makes it.
///
/// Calls that come while it is being made wait for that, and have its failure as well. Otherwise each would try again for itself, one after the other.
pub(crate) struct Shared<T, E> {
    state: Mutex<SharedState<T, E>>,
    /// How many attempts have failed.
    failures: AtomicU64,
}

struct SharedState<T, E> {
    made: Option<T>,
    failed: Option<E>,
}

impl<T: Clone, E: Clone> Shared<T, E> {
    /// What there is, if it can still be used, or else what `make` makes.
    pub(crate) async fn get(
        &self,
        is_usable: impl FnOnce(&T) -> bool,
        make: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let failures = self.failures.load(Relaxed);
        let mut state = self.state.lock().await;
        if let Some(made) = state.made.as_ref().filter(|made| is_usable(made)) {
            return Ok(made.clone());
        }
        // An attempt has failed since this call began.
        if let Some(error) = &state.failed
            && self.failures.load(Relaxed) != failures
        {
            return Err(error.clone());
        }
        match make.await {
            Ok(made) => Ok(state.made.insert(made).clone()),
            Err(error) => {
                self.failures.fetch_add(1, Relaxed);
                state.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Has the next call make it again, if this is what there is.
    #[cfg(any(test, feature = "redis-streams"))]
    pub(crate) async fn forget(&self, is_this: impl FnOnce(&T) -> bool) {
        let mut state = self.state.lock().await;
        if state.made.as_ref().is_some_and(is_this) {
            state.made = None;
        }
    }
}

impl<T, E> Default for Shared<T, E> {
    fn default() -> Self {
        Self { state: Mutex::new(SharedState { made: None, failed: None }), failures: AtomicU64::new(0) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    /// Guard: calls that wait share a failure | no look at `failed`
    #[tokio::test]
    async fn calls_that_wait_share_a_failure_and_later_ones_try_again() {
        let (shared, tries) = (Shared::<u32, &str>::default(), AtomicU32::new(0));
        let call = || {
            shared.get(|_| true, async {
                // All calls have begun when the first goes on.
                tokio::task::yield_now().await;
                match tries.fetch_add(1, Relaxed) {
                    0 => Err("away"),
                    n => Ok(n),
                }
            })
        };
        assert_eq!(futures::future::join_all((0..16).map(|_| call())).await, [Err("away"); 16]);
        assert_eq!(tries.load(Relaxed), 1);
        assert_eq!(futures::future::join_all((0..16).map(|_| call())).await, [Ok(1); 16]);
        shared.forget(|made| *made == 7).await;
        assert_eq!(call().await, Ok(1));
        shared.forget(|made| *made == 1).await;
        assert_eq!(call().await, Ok(2));
    }

    #[tokio::test]
    async fn a_connection_that_is_no_longer_usable_is_made_again() {
        let shared = Shared::<u32, &str>::default();
        assert_eq!(shared.get(|_| true, async { Ok(1) }).await, Ok(1));
        assert_eq!(shared.get(|made| *made > 1, async { Ok(2) }).await, Ok(2));
    }
}
