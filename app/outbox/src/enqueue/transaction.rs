use std::{fmt, future::Future, marker::PhantomData, time::Duration};

use claimstream_domain::{Jitter, RetryPolicy};
use claimstream_ports::{StoreError, StoreErrorKind, Timer, Transactions};
use futures::future::BoxFuture;
use uuid::Uuid;

/// Does work in a transaction and commits it; restarts it whole after a deadlock, a lock wait or the like.
///
/// The work may run several times, each time in a new transaction whose predecessor was rolled back, so whatever it does
/// outside the transaction must bear that. An error of the work rolls back and is handed on; a `Transient` one, of the
/// work or of the commit, does so only after a few tries. A commit that ended with `Unavailable` is not repeated, because
/// it may have taken effect.
///
/// ```
/// use claimstream::{Compose, Enqueue, Enqueued, NewMessage, in_transaction, work};
/// # use claimstream_memory::MemoryStore;
/// # use claimstream_tokio::TokioTimer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (store, timer) = (MemoryStore::new(), TokioTimer::new());
/// let paid = [NewMessage::json("orders", &"order 7 is paid")?];
/// let enqueued: Vec<Enqueued> = in_transaction(&store, &timer, |tx| {
///     work(async {
///         // UPDATE orders SET paid = TRUE WHERE id = 7, in this very transaction
///         store.enqueue(tx, &paid).await
///     })
/// })
/// .await?;
/// assert_eq!(enqueued, [Enqueued::New]);
/// # Ok(())
/// # }
/// ```
pub async fn in_transaction<'env, S, T, E>(
    store: &S,
    timer: &dyn Timer,
    attempt: impl for<'tx> FnMut(&'tx S::Tx) -> Work<'env, 'tx, Result<T, E>> + Send,
) -> Result<T, E>
where
    S: Transactions + ?Sized,
    T: Send,
    E: TransactionError,
{
    in_proven_transaction(store, timer, attempt, || Box::pin(async { Ok(()) })).await
}

/// Does the same, and after each roll-back has `undone` prove that nothing of the work stands.
///
/// A statement that commits by itself ends a transaction with what was written before it, and a roll-back after it answers Ok all the
/// same. An error of `undone` is handed on in place of the work's, and nothing is restarted.
pub async fn in_proven_transaction<'env, S, T, E>(
    store: &S,
    timer: &dyn Timer,
    mut attempt: impl for<'tx> FnMut(&'tx S::Tx) -> Work<'env, 'tx, Result<T, E>> + Send,
    mut undone: impl FnMut() -> BoxFuture<'env, Result<(), E>> + Send,
) -> Result<T, E>
where
    S: Transactions + ?Sized,
    T: Send,
    E: TransactionError,
{
    let mut tries = 0;
    loop {
        tries += 1;
        match once(store, &mut attempt, &mut undone).await {
            Err(error) if is_transient(&error) && !RESTARTS.is_last(tries) => {
                // Waits must differ between transactions that have met; they need not be unforeseeable.
                let wait = RESTARTS.delay(tries, Uuid::now_v7().as_u64_pair().1);
                tracing::debug!(tries, wait_seconds = wait.as_secs_f64(), "transaction restarted");
                timer.sleep(wait).await;
            }
            done => return done,
        }
    }
}

const RESTARTS: RetryPolicy = RetryPolicy {
    base: Duration::from_millis(2),
    cap: Duration::from_millis(250),
    max_attempts: 10,
    jitter: Jitter::Full,
};

/// The work in a transaction, made by [`work`]; it may borrow the transaction and its surroundings.
pub struct Work<'env, 'tx, T>(BoxFuture<'tx, T>, PhantomData<&'tx &'env ()>);

/// Makes work for [`in_transaction`] of an async block.
pub fn work<'env, 'tx, T>(work: impl Future<Output = T> + Send + 'tx) -> Work<'env, 'tx, T> {
    Work(Box::pin(work), PhantomData)
}

impl<T> fmt::Debug for Work<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

/// An error that work in a transaction may end with: one that shows the store's error if there is one beneath.
pub trait TransactionError: From<StoreError> + Send {
    /// What the store said, if it was the store.
    fn store_error(&self) -> Option<&StoreError>;
}

impl TransactionError for StoreError {
    fn store_error(&self) -> Option<&StoreError> {
        Some(self)
    }
}

async fn once<'env, S, T, E>(
    store: &S,
    attempt: &mut (impl for<'tx> FnMut(&'tx S::Tx) -> Work<'env, 'tx, Result<T, E>> + Send),
    undone: &mut (impl FnMut() -> BoxFuture<'env, Result<(), E>> + Send),
) -> Result<T, E>
where
    S: Transactions + ?Sized,
    T: Send,
    E: TransactionError,
{
    let tx = store.begin_tx().await?;
    let done = attempt(&tx).0.await;
    match done {
        Ok(done) => {
            store.commit_tx(tx).await?;
            Ok(done)
        }
        Err(error) => {
            if let Err(second) = store.roll_back_tx(tx).await {
                // A connection that cannot roll back is closed, and the server rolls back.
                tracing::debug!(error = %second, "not rolled back");
            }
            undone().await?;
            Err(error)
        }
    }
}

fn is_transient(error: &impl TransactionError) -> bool {
    error.store_error().is_some_and(|error| error.kind() == StoreErrorKind::Transient)
}

#[cfg(test)]
mod tests {
    use claimstream_ports::mock::{MockTimer, MockTransactions};
    use futures::executor::block_on;

    use super::*;

    fn error(kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, "test", "as asked")
    }

    fn timer(sleeps: usize) -> MockTimer {
        let mut timer = MockTimer::new();
        timer
            .expect_sleep()
            .times(sleeps)
            .withf(|wait| *wait <= RESTARTS.cap)
            .returning(|_| Box::pin(async {}));
        timer
    }

    fn transactions(begins: usize, commits: usize, roll_backs: usize) -> MockTransactions<()> {
        let mut store = MockTransactions::new();
        store.expect_begin_tx().times(begins).returning(|| Ok(()));
        store.expect_commit_tx().times(commits).returning(|()| Ok(()));
        store.expect_roll_back_tx().times(roll_backs).returning(|()| Ok(()));
        store
    }

    fn run(
        store: &MockTransactions<()>,
        timer: &MockTimer,
        fail: u32,
        kind: StoreErrorKind,
    ) -> Result<u32, StoreError> {
        let mut tries = 0;
        block_on(in_transaction(store, timer, |()| {
            tries += 1;
            let tried = tries;
            work(async move { if tried <= fail { Err(error(kind)) } else { Ok(tried) } })
        }))
    }

    #[test]
    fn restarts_the_whole_transaction_after_a_transient_error() {
        assert_eq!(run(&transactions(3, 1, 2), &timer(2), 2, StoreErrorKind::Transient).ok(), Some(3));
    }

    #[test]
    fn gives_up_after_a_bounded_number_of_tries() {
        let most = RESTARTS.max_attempts;
        let (store, timer) = (transactions(most as usize, 0, most as usize), timer(most as usize - 1));
        let refused = run(&store, &timer, u32::MAX, StoreErrorKind::Transient).unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Transient);
    }

    #[test]
    fn any_other_error_rolls_back_and_is_handed_on() {
        let refused = run(&transactions(1, 0, 1), &timer(0), 1, StoreErrorKind::Conflict).unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Conflict);
    }

    #[test]
    fn a_commit_is_repeated_only_if_it_is_known_to_have_changed_nothing() {
        for (kind, tries) in [(StoreErrorKind::Transient, 2), (StoreErrorKind::Unavailable, 1)] {
            let mut store = MockTransactions::new();
            store.expect_begin_tx().times(tries).returning(|| Ok(()));
            let mut answers = vec![Ok(()), Err(error(kind))];
            store.expect_commit_tx().times(tries).returning(move |()| answers.pop().unwrap_or(Ok(())));
            let done = run(&store, &timer(tries - 1), 0, kind);
            assert_eq!(done.is_ok(), tries == 2, "{kind:?}");
        }
    }
}
