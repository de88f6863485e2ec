use std::{sync::Arc, time::Duration};

use sea_orm::{ConnAcquireErr, DbErr};
use tokio::sync::watch;

use super::{classify::is_pool_timeout, store_timer::StoreTimer};

/// Notifies those that wait for a server that another one takes writes. Clones share it; with one address it never notifies.
#[derive(Clone, Default)]
pub(crate) struct Moves(Option<Arc<Watched>>);

struct Watched {
    found: watch::Sender<Found>,
    timer: StoreTimer,
}

/// A search for the server that takes writes. When it is dropped, also before it has found one, nothing is looked for any more: a pool that outlives
/// the outbox would wait for it for ever.
#[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
pub(crate) struct Looking(Moves);

#[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
impl Looking {
    /// The server that was written to does not take writes; nothing connects to it any more.
    pub(crate) fn is_certain(&self) {
        self.0.look(true);
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.look(false);
    }
}

/// How often the server that takes writes was looked for and found, and how often it was another one than before.
#[derive(Clone, Copy, Default)]
struct Found {
    times: u64,
    moves: u64,
    /// The server that was written to does not take writes, and the search has not ended yet.
    is_looking: bool,
}

impl Moves {
    /// How long a statement may still take that was sent before another server was found to take writes: most are answered, or refused, or
    /// are about to find a connection to the new one.
    pub(crate) const GRACE: Duration = Duration::from_millis(500);

    /// For several addresses.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
    pub(crate) fn watched(timer: StoreTimer) -> Self {
        Self(Some(Arc::new(Watched { found: watch::Sender::new(Found::default()), timer })))
    }

    /// For a search for the server that takes writes.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
    pub(crate) fn looking(&self) -> Looking {
        Looking(self.clone())
    }

    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
    fn look(&self, is_looking: bool) {
        if let Some(Watched { found, .. }) = self.0.as_deref() {
            found
                .send_if_modified(|found| std::mem::replace(&mut found.is_looking, is_looking) != is_looking);
        }
    }

    /// Whether no server is known that takes writes.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
    pub(crate) fn is_looking(&self) -> bool {
        self.0.as_ref().is_some_and(|watched| watched.found.borrow().is_looking)
    }

    /// A search has ended, and has found another server than before if `is_another`.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
    pub(crate) fn found(&self, is_another: bool) {
        if let Some(Watched { found, .. }) = self.0.as_deref() {
            found.send_modify(|found| {
                found.is_looking = false;
                found.times += 1;
                found.moves += u64::from(is_another);
            });
        }
    }

    /// Repeats what waits for a connection as often as a search ends meanwhile, within `limit` in all: the pool may wait for a server that
    /// is gone. With one address the pool has the limit.
    pub(crate) async fn reaching<T, F: Future<Output = Result<T, DbErr>>>(
        &self,
        limit: Duration,
        mut connect: impl FnMut() -> F,
    ) -> Result<T, DbErr> {
        let Some(Watched { found: sender, timer }) = self.0.as_deref() else { return connect().await };
        let connected = async {
            loop {
                let mut receiver = sender.subscribe();
                let before = receiver.borrow_and_update().times;
                tokio::select! {
                    biased;
                    done = connect() => return done,
                    // The sender lives as long as this.
                    _ = receiver.wait_for(|found| found.times != before) => {}
                }
            }
        };
        let connected = timer.timeout(limit, connected).await;
        match connected.unwrap_or(Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))) {
            Err(error) if is_pool_timeout(&error) && sender.borrow().is_looking => {
                let why = "none of the servers of the database URL takes writes";
                Err(DbErr::Custom(format!("no connection within {limit:?}: {why}")))
            }
            connected => connected,
        }
    }

    /// Waits until another server was found and those that were asked before have had time to answer; for ever with one address.
    pub(crate) async fn moved(&self) {
        let Some(Watched { found, timer }) = self.0.as_deref() else { return std::future::pending().await };
        let mut receiver = found.subscribe();
        let before = receiver.borrow_and_update().moves;
        let _ = receiver.wait_for(|found| found.moves != before).await;
        timer.sleep(Self::GRACE).await;
    }
}

#[cfg(test)]
mod tests {
    //! Promise: a wait for a connection ends within its limit
    use std::{
        pin::pin,
        sync::atomic::{AtomicU32, Ordering},
    };

    use futures::poll;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn what_waits_for_a_connection_begins_again_when_a_server_was_found() {
        let (moves, tries) = (Moves::watched(StoreTimer::by_hand().0), AtomicU32::default());
        let connect = || async {
            match tries.fetch_add(1, Ordering::SeqCst) {
                0 => std::future::pending().await,
                n => Ok(n),
            }
        };
        let find = async {
            tokio::task::yield_now().await;
            moves.found(false);
        };
        let (tried, ()) = tokio::join!(moves.reaching(TIMEOUT, connect), find);
        assert_eq!(tried, Ok(1));
        assert_eq!(Moves::default().reaching(TIMEOUT, || async { Ok(7) }).await, Ok(7));
    }

    /// Guard: a wait for a connection has one limit | `reaching`: a hundred times as long
    #[tokio::test]
    async fn a_wait_ends_within_its_limit_however_often_a_search_ends_meanwhile() {
        let (timer, hand) = StoreTimer::by_hand();
        let moves = Moves::watched(timer.clone());
        // The pool has the same limit, and counts it from each call.
        let connect = || async {
            timer.sleep(TIMEOUT).await;
            Err::<(), _>(DbErr::Custom("the pool's time is over".into()))
        };
        let search = async {
            for _ in 0..10 {
                tokio::task::yield_now().await;
                hand.advance(TIMEOUT / 10);
                moves.found(false);
            }
        };
        let (waited, ()) = tokio::join!(moves.reaching(TIMEOUT, connect), search);
        let error = waited.unwrap_err();
        assert!(is_pool_timeout(&error), "{error}");
    }

    #[tokio::test]
    async fn the_error_of_a_wait_says_that_no_server_takes_writes() {
        let (timer, hand) = StoreTimer::by_hand();
        let moves = Moves::watched(timer);
        let looking = moves.looking();
        looking.is_certain();
        assert!(moves.is_looking());
        let mut wait = pin!(moves.reaching(TIMEOUT, std::future::pending::<Result<(), _>>));
        assert!(poll!(&mut wait).is_pending());
        hand.advance(TIMEOUT);
        let error = wait.await.unwrap_err();
        assert!(error.to_string().contains("none of the servers"), "{error}");
        moves.found(false);
        assert!(!moves.is_looking());
    }

    #[tokio::test]
    async fn a_statement_is_given_up_after_a_move_and_not_because_the_same_server_was_found() {
        let (timer, hand) = StoreTimer::by_hand();
        let moves = Moves::watched(timer);
        let mut moved = pin!(moves.moved());
        assert!(poll!(&mut moved).is_pending());
        moves.found(false);
        assert!(poll!(&mut moved).is_pending());
        assert_eq!(hand.sleepers(), 0, "the same server was found");
        moves.found(true);
        assert!(poll!(&mut moved).is_pending());
        assert_eq!(hand.next_wakeup(), Some(Moves::GRACE));
        hand.advance(Moves::GRACE);
        moved.await;
    }
}
