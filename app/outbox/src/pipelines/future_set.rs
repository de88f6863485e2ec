use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};

/// Many futures, of which only so many are polled in one round; the others wait for a later one.
///
/// Executors let one task do so much and no more before it must give way: what tokio's own futures are asked beyond that, they
/// answer with "not yet", whatever the truth. A `FuturesUnordered` would ask all the others for nothing, and again the next time, which
/// for a hundred thousand of them costs more than all that they do.
pub(crate) struct FutureSet<T> {
    futures: FuturesUnordered<Budgeted<T>>,
    budget: Budget,
}

impl<T> FutureSet<T> {
    pub(crate) fn new() -> Self {
        Self { futures: FuturesUnordered::new(), budget: Budget::default() }
    }

    pub(crate) fn push(&self, future: BoxFuture<'static, T>) {
        self.futures.push(Budgeted { budget: self.budget.clone(), future });
    }

    /// Begins another round.
    pub(crate) fn begin_round(&self) {
        self.budget.refill();
    }

    /// What the next future comes to that is done; pending as well if there is none.
    pub(crate) fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        match self.futures.poll_next_unpin(cx) {
            Poll::Ready(Some(done)) => Poll::Ready(done),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.futures.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.futures.is_empty()
    }

    /// Drops all futures.
    pub(crate) fn clear(&mut self) {
        self.futures.clear();
    }
}

/// How many futures may still be polled in this round.
#[derive(Clone, Default)]
struct Budget(Arc<AtomicUsize>);

impl Budget {
    /// About what an executor lets one task do at a time.
    const PER_ROUND: usize = 128;

    fn refill(&self) {
        self.0.store(Self::PER_ROUND, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// A future that is polled only while its set's budget lasts.
struct Budgeted<T> {
    budget: Budget,
    future: BoxFuture<'static, T>,
}

impl<T> Future for Budgeted<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if !self.budget.take() {
            // A set of futures that are woken while they are polled gives way, as it should.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.future.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        sync::{Mutex, PoisonError},
        task::Waker,
    };

    use futures::FutureExt;

    use super::*;

    /// Lets the task do so much at a time, and wakes those whom it put off when the task has given way.
    #[derive(Default)]
    struct Executor {
        left: usize,
        put_off: Vec<Waker>,
        asked: usize,
    }

    /// Guard: attempts and settlements are polled in rounds | no rounds
    #[test]
    fn what_an_executor_puts_off_is_not_asked_again_and_again() {
        const MANY: usize = 20_000;
        let executor = Arc::new(Mutex::new(Executor::default()));
        let mut all = FutureSet::new();
        (0..MANY).for_each(|_| all.push(once_the_executor_allows(&executor).boxed()));
        let mut done = 0;
        while done < MANY {
            lock(&executor).left = Budget::PER_ROUND;
            all.begin_round();
            while all.poll_done(&mut Context::from_waker(Waker::noop())).is_ready() {
                done += 1;
            }
            let put_off = std::mem::take(&mut lock(&executor).put_off);
            put_off.into_iter().for_each(Waker::wake);
        }
        let asked = lock(&executor).asked;
        assert!(asked <= 2 * MANY, "{asked} questions for {MANY} futures");
    }

    fn once_the_executor_allows(
        executor: &Arc<Mutex<Executor>>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let executor = Arc::clone(executor);
        poll_fn(move |cx| {
            let mut executor = lock(&executor);
            executor.asked += 1;
            match executor.left.checked_sub(1) {
                Some(left) => {
                    executor.left = left;
                    Poll::Ready(())
                }
                None => {
                    executor.put_off.push(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
    }

    fn lock(executor: &Mutex<Executor>) -> std::sync::MutexGuard<'_, Executor> {
        executor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
