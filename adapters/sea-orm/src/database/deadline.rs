use std::{future::Future, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::DbErr;

use super::{classify::Unanswered, moves::Moves};

/// How long statements of a unit of work are waited for.
#[derive(Clone)]
pub(super) struct Bounds {
    /// Each has this long to answer.
    pub(super) deadline: Duration,
    /// None is waited for any longer once another server takes writes.
    pub(super) moves: Moves,
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
    let Ok(Bounds { deadline, moves }) = BOUNDS.try_with(Bounds::clone) else {
        return answer.await.map_err(|e| classify(operation, e));
    };
    let unknown = |why| StoreError::new(StoreErrorKind::Unavailable, operation, why);
    let answered = tokio::time::timeout(deadline, answer);
    tokio::select! {
        biased;
        answered = answered => match answered {
            Ok(answer) => answer.map_err(|e| classify(operation, e)),
            Err(_) => Err(unknown(Unanswered::TookTooLong(deadline))),
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
    use super::*;
    use crate::database::classify::{classify, is_outage};

    #[tokio::test]
    async fn an_answer_that_never_comes_is_an_outage_for_our_own_work_only() {
        let bounds = || Bounds { deadline: Duration::from_millis(5), moves: Moves::default() };
        let never = || in_time("claim", std::future::pending::<Result<(), DbErr>>(), classify);
        let error = BOUNDS.scope(bounds(), never()).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        assert!(is_outage(&error));
        assert!(tokio::time::timeout(Duration::from_millis(20), never()).await.is_err());
    }
}
