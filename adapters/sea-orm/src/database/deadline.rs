use std::{future::Future, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::DbErr;

use super::{classify::Unanswered, moves::Moves, store_timer::StoreTimer};

/// How long statements of a unit of work are waited for.
#[derive(Clone)]
pub(super) struct Bounds {
    /// Each has this long to answer.
    pub(super) deadline: Duration,
    /// None is waited for any longer once another server takes writes.
    pub(super) moves: Moves,
    pub(super) timer: StoreTimer,
}

/// Runs work whose statements are waited for within these bounds.
pub(super) async fn within<T>(bounds: Bounds, work: impl Future<Output = T>) -> T {
    BOUNDS.scope(bounds, work).await
}

/// Waits for an answer, with a deadline where a unit of work of ours runs: a frozen server or a cut link must not hold it
/// for ever. The connection is then dropped in the middle of the answer, and the pool closes it.
pub(crate) async fn in_time<T>(
    operation: &'static str,
    answer: impl Future<Output = Result<T, DbErr>>,
    classify: fn(&'static str, DbErr) -> StoreError,
) -> Result<T, StoreError> {
    let Ok(Bounds { deadline, moves, timer }) = BOUNDS.try_with(Bounds::clone) else {
        return answer.await.map_err(|e| classify(operation, e));
    };
    let unknown = |why| StoreError::new(StoreErrorKind::Unavailable, operation, why);
    let answered = timer.timeout(deadline, answer);
    tokio::select! {
        biased;
        answered = answered => match answered {
            Some(answer) => answer.map_err(|e| classify(operation, e)),
            None => Err(unknown(Unanswered::TookTooLong(deadline))),
        },
        () = moves.moved() => Err(unknown(Unanswered::Moved)),
    }
}

tokio::task_local! {
    /// How long a statement may take where a unit of work of ours runs. A caller's own connection waits as long as its
    /// session lets it, and must not be left in the middle of an answer.
    static BOUNDS: Bounds;
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::database::classify::{classify, is_outage};

    #[tokio::test]
    async fn an_answer_that_never_comes_is_an_outage_for_our_own_work_only() {
        let ((timer, hand), deadline) = (StoreTimer::by_hand(), Duration::from_secs(20));
        let bounds = Bounds { deadline, moves: Moves::default(), timer };
        let never = || in_time("claim", std::future::pending::<Result<(), DbErr>>(), classify);
        let turn = async {
            hand.asleep_until(deadline).await;
            hand.advance(deadline);
        };
        let (answer, ()) = tokio::join!(BOUNDS.scope(bounds, never()), turn);
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        assert!(is_outage(&error));
        assert!(never().now_or_never().is_none());
        assert_eq!(hand.sleepers(), 0, "a caller's own statement has no deadline");
    }
}
