use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures::future::BoxFuture;

/// How many of a large set of futures are polled at one look; the others pass and are polled at a later one.
///
/// Executors let one task do so much and no more before it must give way: what tokio's own futures are asked beyond that, they
/// answer with "not yet", whatever the truth. A `FuturesUnordered` would ask all the others in vain and again the next time, which
/// for a hundred thousand of them costs more than all that they do.
#[derive(Clone, Default)]
pub(crate) struct Ration(Arc<AtomicUsize>);

impl Ration {
    /// About what an executor lets one task do at a time.
    const AT_ONE_LOOK: usize = 128;

    /// Begins another look.
    pub(crate) fn refill(&self) {
        self.0.store(Self::AT_ONE_LOOK, Ordering::Relaxed);
    }

    /// The future, polled only as long as there is some of the ration left.
    pub(crate) fn of<T>(&self, future: BoxFuture<'static, T>) -> Rationed<T> {
        Rationed { ration: self.clone(), future }
    }

    fn take(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// A future that waits for its share of a [`Ration`].
pub(crate) struct Rationed<T> {
    ration: Ration,
    future: BoxFuture<'static, T>,
}

impl<T> Future for Rationed<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if !self.ration.take() {
            // A set of futures that are woken while they are polled gives way, which is what is wanted.
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

    use futures::{FutureExt, StreamExt, stream::FuturesUnordered};

    use super::*;

    /// Lets the task do so much at a time, and wakes those whom it put off when the task has given way.
    #[derive(Default)]
    struct Executor {
        left: usize,
        put_off: Vec<Waker>,
        asked: usize,
    }

    #[test]
    fn what_an_executor_puts_off_is_not_asked_again_and_again() {
        const MANY: usize = 20_000;
        let executor = Arc::new(Mutex::new(Executor::default()));
        let ration = Ration::default();
        let mut all: FuturesUnordered<_> =
            (0..MANY).map(|_| ration.of(once_the_executor_allows(&executor).boxed())).collect();
        let mut done = 0;
        while done < MANY {
            lock(&executor).left = Ration::AT_ONE_LOOK;
            ration.refill();
            while let Poll::Ready(Some(())) = all.poll_next_unpin(&mut Context::from_waker(Waker::noop())) {
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
