use std::{
    collections::VecDeque,
    error::Error,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use claimstream_ports::{StoreError, StoreErrorKind};
use tokio::sync::oneshot;

use super::Database;

/// Joins writes that are asked for while one is under way into the next one, so that many callers share a commit.
///
/// The first call writes at once; no call waits for a timer. All calls that share a write get its answer.
pub(crate) struct WriteCoalescer<T, A = ()> {
    state: Mutex<State<T, A>>,
}

struct State<T, A> {
    writing: bool,
    waiting: VecDeque<(Vec<T>, Reply<A>)>,
}

type Reply<A> = oneshot::Sender<Result<A, Arc<StoreError>>>;

impl<T, A> Default for WriteCoalescer<T, A> {
    fn default() -> Self {
        Self { state: Mutex::new(State { writing: false, waiting: VecDeque::new() }) }
    }
}

impl<T, A: Clone> WriteCoalescer<T, A> {
    /// The most items of one write, unless one call alone has more.
    const MOST: usize = 500;

    /// Has `items` written, alone or with others, and waits until they are.
    ///
    /// `start` is called if nothing is being written; it runs the drain.
    pub(crate) async fn write(
        self: &Arc<Self>,
        operation: &'static str,
        items: Vec<T>,
        start: impl FnOnce(Drain<T, A>),
    ) -> Result<A, StoreError> {
        let (reply, answer) = oneshot::channel();
        let first = {
            let mut state = self.lock();
            state.waiting.push_back((items, reply));
            !std::mem::replace(&mut state.writing, true)
        };
        if first {
            start(Drain { coalescer: Arc::clone(self), is_over: false });
        }
        match answer.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(StoreError::new(error.kind(), operation, SharedError(error))),
            Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, lost)),
        }
    }

    fn next(&self) -> Option<(Vec<T>, Vec<Reply<A>>)> {
        let mut state = self.lock();
        let (mut items, mut replies) = (Vec::new(), Vec::new());
        let fits = |items: &Vec<T>, more: &Vec<T>| items.is_empty() || items.len() + more.len() <= Self::MOST;
        while let Some((more, reply)) = state.waiting.pop_front_if(|(more, _)| fits(&items, more)) {
            items.extend(more);
            replies.push(reply);
        }
        if replies.is_empty() {
            state.writing = false;
            return None;
        }
        Some((items, replies))
    }
}

impl<T, A> WriteCoalescer<T, A> {
    fn lock(&self) -> MutexGuard<'_, State<T, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database {
    /// Has `items` written by `work`, together with what others hand in meanwhile; each write is a unit of work of its own.
    pub(crate) async fn coalesced<T, A, W>(
        &self,
        operation: &'static str,
        coalescer: &Arc<WriteCoalescer<T, A>>,
        items: Vec<T>,
        work: impl Fn(Vec<T>) -> W + Send + Sync + 'static,
    ) -> Result<A, StoreError>
    where
        T: Send + 'static,
        A: Clone + Send + Sync + 'static,
        W: Future<Output = Result<A, StoreError>> + Send + 'static,
    {
        let start = |drain: Drain<T, A>| {
            let detach = self.detaching();
            self.runtime.spawn(drain.run(move |all| detach.run(operation, work(all))));
        };
        coalescer.write(operation, items, start).await
    }
}

/// The source of an error that all callers that shared a write get.
#[derive(Debug)]
struct SharedError(Arc<StoreError>);

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0.get_ref(), f)
    }
}

impl Error for SharedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.get_ref().source()
    }
}

/// Writes what waits. One that does not come to its end, because of a panic or because its runtime has ended, answers the waiting calls
/// with an error and lets the next one begin.
pub(crate) struct Drain<T, A> {
    coalescer: Arc<WriteCoalescer<T, A>>,
    is_over: bool,
}

impl<T, A: Clone> Drain<T, A> {
    /// Writes again and again, until nothing waits.
    pub(crate) async fn run<W: Future<Output = Result<A, StoreError>>>(
        mut self,
        write: impl Fn(Vec<T>) -> W,
    ) {
        while let Some((items, replies)) = self.coalescer.next() {
            let written = write(items).await.map_err(Arc::new);
            for reply in replies {
                // A caller that does not wait any more does not need the answer.
                let _ = reply.send(written.clone());
            }
        }
        // From here on the next caller may already be writing.
        self.is_over = true;
    }
}

impl<T, A> Drop for Drain<T, A> {
    fn drop(&mut self) {
        if !self.is_over {
            let mut state = self.coalescer.lock();
            state.waiting.clear();
            state.writing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_drain_that_is_broken_off_or_never_runs_lets_the_next_call_write() {
        let coalescer = Arc::new(WriteCoalescer::<u8>::default());
        let begin = |writes: bool| {
            let coalescer = coalescer.clone();
            async move {
                let write = move |_: Vec<u8>| async move {
                    assert!(writes, "broken off");
                    Ok(())
                };
                coalescer.write("test", vec![1], |drain| drop(tokio::spawn(drain.run(write)))).await
            }
        };
        let error = begin(false).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        // A runtime that has ended drops what it is given.
        let error = coalescer.write("test", vec![1], drop).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        assert!(begin(true).await.is_ok());
    }

    #[test]
    fn all_callers_get_the_error_as_it_was() {
        let cause = std::io::Error::other(std::fmt::Error);
        let error = Arc::new(StoreError::new(StoreErrorKind::Transient, "test", cause));
        let shared = StoreError::new(error.kind(), "test", SharedError(Arc::clone(&error)));
        assert_eq!(shared.to_string(), error.to_string());
        let chain = |error: &StoreError| {
            std::iter::successors(error.get_ref().source(), |&e| e.source())
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(chain(&shared), chain(&error));
    }

    #[tokio::test]
    async fn who_comes_while_a_write_is_under_way_shares_the_next_one() {
        let coalescer = Arc::new(WriteCoalescer::<u32, usize>::default());
        let (go, gone) = oneshot::channel();
        let first = {
            let start = move |drain: Drain<u32, usize>| {
                let gone = tokio::sync::Mutex::new(Some(gone));
                tokio::spawn(async move {
                    let write = async |items: Vec<u32>| {
                        if let Some(gone) = gone.lock().await.take() {
                            let _ = gone.await;
                        }
                        Ok(items.len())
                    };
                    drain.run(write).await;
                });
            };
            let coalescer = Arc::clone(&coalescer);
            tokio::spawn(async move { coalescer.write("test", vec![1], start).await })
        };
        tokio::task::yield_now().await;
        let later = [vec![2], vec![3; 499], vec![4], vec![5; 501]].map(|items| {
            let coalescer = Arc::clone(&coalescer);
            tokio::spawn(
                async move { coalescer.write("test", items, |_| unreachable!("one is under way")).await },
            )
        });
        tokio::task::yield_now().await;
        go.send(()).expect("it waits");
        assert_eq!(first.await.expect("no panic").expect("written"), 1);
        let mut shared = Vec::new();
        for one in later {
            shared.push(one.await.expect("no panic").expect("written"));
        }
        assert_eq!(shared, [500, 500, 1, 501]);
    }
}
