use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

/// Tells those that wait for a server that another one takes writes. Clones share it; with one address nothing is ever told.
#[derive(Clone, Default)]
pub(crate) struct Moves(Option<Arc<watch::Sender<Found>>>);

/// How often the server that takes writes was looked for and found, and how often it was another one than before.
#[derive(Clone, Copy, Default)]
struct Found {
    times: u64,
    moves: u64,
}

impl Moves {
    /// How long a statement may still take that was sent before another server was found to take writes: most are answered, or refused, or
    /// are about to find a connection to the new one.
    pub(crate) const GRACE: Duration = Duration::from_millis(500);

    /// For several addresses.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
    pub(crate) fn watched() -> Self {
        Self(Some(Arc::new(watch::Sender::new(Found::default()))))
    }

    /// A search has ended, and has found another server than before if `is_another`.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code, reason = "a file has no address"))]
    pub(crate) fn found(&self, is_another: bool) {
        if let Some(sender) = &self.0 {
            sender.send_modify(|found| {
                found.times += 1;
                found.moves += u64::from(is_another);
            });
        }
    }

    /// Repeats what waits for a connection as often as a search ends meanwhile: the pool may wait for a server that is gone.
    pub(crate) async fn reaching<T, F: Future<Output = T>>(&self, mut connect: impl FnMut() -> F) -> T {
        let Some(sender) = &self.0 else { return connect().await };
        loop {
            let mut hear = sender.subscribe();
            let before = hear.borrow_and_update().times;
            tokio::select! {
                biased;
                done = connect() => return done,
                // The sender lives as long as this.
                _ = hear.wait_for(|found| found.times != before) => {}
            }
        }
    }

    /// Waits until another server was found and those that were asked before have had time to answer; for ever with one address.
    pub(crate) async fn moved(&self) {
        let Some(sender) = &self.0 else { return std::future::pending().await };
        let mut hear = sender.subscribe();
        let before = hear.borrow_and_update().moves;
        let _ = hear.wait_for(|found| found.moves != before).await;
        tokio::time::sleep(Self::GRACE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn what_waits_for_a_connection_begins_anew_when_a_server_was_found() {
        let (moves, tries) = (Moves::watched(), AtomicU32::default());
        let connect = || async {
            match tries.fetch_add(1, Ordering::SeqCst) {
                0 => std::future::pending().await,
                n => n,
            }
        };
        let find = async {
            tokio::task::yield_now().await;
            moves.found(false);
        };
        let (tried, ()) = tokio::join!(moves.reaching(connect), find);
        assert_eq!(tried, 1);
        assert_eq!(Moves::default().reaching(|| async { 7 }).await, 7);
    }

    #[tokio::test]
    async fn a_statement_is_given_up_after_a_move_and_not_because_the_same_server_was_found() {
        let moves = Moves::watched();
        let waits = || tokio::time::timeout(Moves::GRACE * 2, moves.moved());
        let find = async |is_another| {
            tokio::task::yield_now().await;
            moves.found(is_another);
        };
        assert!(tokio::join!(waits(), find(false)).0.is_err());
        assert!(tokio::join!(waits(), find(true)).0.is_ok());
    }
}
