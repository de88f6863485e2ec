use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use claimstream_ports::{StoreError, StoreErrorKind};
use tokio::sync::oneshot;

/// Joins writes that are asked for while one is under way into the next one, so that many callers share a commit.
///
/// The first call writes at once; nobody ever waits for a timer.
pub(crate) struct Gather<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    writing: bool,
    waiting: Vec<(Vec<T>, Reply)>,
}

type Reply = oneshot::Sender<Result<(), Arc<StoreError>>>;

impl<T> Default for Gather<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { writing: false, waiting: Vec::new() }) }
    }
}

impl<T: Send + 'static> Gather<T> {
    /// The most items of one write.
    const MOST: usize = 500;

    /// Has `items` written, alone or with others, and waits until they are.
    ///
    /// `start` is called if nobody is writing; it must see to it that [`drain`](Self::drain) runs to its end.
    pub(crate) async fn write(
        &self,
        operation: &'static str,
        items: Vec<T>,
        start: impl FnOnce(),
    ) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        let first = {
            let mut state = self.lock();
            state.waiting.push((items, reply));
            !std::mem::replace(&mut state.writing, true)
        };
        if first {
            start();
        }
        match answer.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(StoreError::new(error.kind(), operation, error.to_string())),
            Err(lost) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, lost)),
        }
    }

    /// Writes what waits, again and again, until nothing does.
    pub(crate) async fn drain<W: Future<Output = Result<(), StoreError>>>(
        &self,
        write: impl Fn(Vec<T>) -> W,
    ) {
        let unfinished = Unfinished(self);
        while let Some((items, replies)) = self.next() {
            let written = write(items).await.map_err(Arc::new);
            for reply in replies {
                // Whoever does not wait any more does not need the answer.
                let _ = reply.send(written.clone());
            }
        }
        // From here on the next caller may already be writing.
        std::mem::forget(unfinished);
    }

    fn next(&self) -> Option<(Vec<T>, Vec<Reply>)> {
        let mut state = self.lock();
        let (mut items, mut replies) = (Vec::new(), Vec::new());
        while items.len() < Self::MOST && !state.waiting.is_empty() {
            let (more, reply) = state.waiting.remove(0);
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

impl<T> Gather<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells those who wait, and lets the next caller begin, when a drain was broken off by a panic or with its runtime.
struct Unfinished<'a, T>(&'a Gather<T>);

impl<T> Drop for Unfinished<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waiting.clear();
        state.writing = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_drain_that_is_broken_off_holds_up_nobody() {
        let gather = Arc::new(Gather::default());
        let begin = |writes: bool| {
            let gather = gather.clone();
            async move {
                let drain = gather.clone();
                let start = || {
                    let write = move |_: Vec<u8>| async move {
                        assert!(writes, "broken off");
                        Ok(())
                    };
                    tokio::spawn(async move { drain.drain(write).await });
                };
                gather.write("test", vec![1], start).await
            }
        };
        let error = begin(false).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        assert!(begin(true).await.is_ok());
    }
}
