use std::{future::Future, time::Duration};

use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::DbErr;

use super::classify::TookTooLong;

/// Runs work whose statements each have this long to answer.
pub(super) async fn within<T>(deadline: Duration, work: impl Future<Output = T>) -> T {
    DEADLINE.scope(deadline, work).await
}

/// Waits for an answer, with a deadline where a unit of work of ours runs: a frozen server or a cut link must not hold it
/// for ever. The connection is then dropped in the middle of the answer, and the pool closes it.
pub(crate) async fn in_time<T>(
    operation: &'static str,
    answer: impl Future<Output = Result<T, DbErr>>,
    classify: fn(&'static str, DbErr) -> StoreError,
) -> Result<T, StoreError> {
    let Ok(deadline) = DEADLINE.try_with(|deadline| *deadline) else {
        return answer.await.map_err(|e| classify(operation, e));
    };
    match tokio::time::timeout(deadline, answer).await {
        Ok(answer) => answer.map_err(|e| classify(operation, e)),
        Err(_) => Err(StoreError::new(StoreErrorKind::Unavailable, operation, TookTooLong(deadline))),
    }
}

tokio::task_local! {
    /// How long a statement may take where a unit of work of ours runs. A caller's own connection waits as long as its
    /// session lets it, and must not be left in the middle of an answer.
    static DEADLINE: Duration;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::classify::{classify, is_outage};

    #[tokio::test]
    async fn an_answer_that_never_comes_is_an_outage_for_our_own_work_only() {
        let never = || in_time("claim", std::future::pending::<Result<(), DbErr>>(), classify);
        let error = DEADLINE.scope(Duration::from_millis(5), never()).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable);
        assert!(is_outage(&error));
        assert!(tokio::time::timeout(Duration::from_millis(20), never()).await.is_err());
    }
}
