use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use crate::Timer;

/// Returns what work comes to, or `None` if it takes longer than the limit; then it is dropped. Work that is done when its time
/// is over counts.
pub async fn within<T>(timer: &dyn Timer, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut end) = (pin!(work), timer.sleep(limit));
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => end.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// A moment of a timer after which nothing more is waited for; several waits share it.
#[derive(Clone)]
pub struct Deadline {
    at: Duration,
    timer: Arc<dyn Timer>,
}

impl Deadline {
    /// The moment that comes so long after now.
    pub fn after(limit: Duration, timer: &Arc<dyn Timer>) -> Self {
        Self { at: timer.now().saturating_add(limit), timer: Arc::clone(timer) }
    }

    /// Returns what work comes to, or `None` if the moment comes before that.
    pub async fn within<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        within(&*self.timer, self.left(), work).await
    }

    /// Waits for the moment.
    pub async fn passes(&self) {
        self.timer.sleep(self.left()).await;
    }

    /// Whether the moment has come.
    pub fn has_passed(&self) -> bool {
        self.left().is_zero()
    }

    fn left(&self) -> Duration {
        self.at.saturating_sub(self.timer.now())
    }
}

#[cfg(all(test, feature = "mock"))]
mod tests {
    use std::{
        future::{pending, ready},
        task::{Context, Waker},
    };

    use super::*;
    use crate::mock::HandTimer;

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn work_ends_with_its_moment_and_not_before() {
        let timer = HandTimer::default();
        let shared: Arc<dyn Timer> = Arc::new(timer.clone());
        let deadline = Deadline::after(LIMIT, &shared);
        let mut late = pin!(deadline.within(pending::<()>()));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(late.as_mut().poll(&mut cx), Poll::Pending);
        timer.advance(LIMIT - Duration::from_nanos(1));
        assert_eq!(late.as_mut().poll(&mut cx), Poll::Pending);
        assert!(!deadline.has_passed());
        timer.advance(Duration::from_nanos(1));
        assert_eq!(late.as_mut().poll(&mut cx), Poll::Ready(None));
        assert!(deadline.has_passed());
        assert_eq!(pin!(deadline.within(ready(7))).poll(&mut cx), Poll::Ready(Some(7)));
    }
}
