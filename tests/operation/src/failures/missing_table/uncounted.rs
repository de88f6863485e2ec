use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream::{Handler, RetryPolicy, handler_fn};
use claimstream_domain::{DeadLetterFilter, Jitter, QueueName};
use claimstream_ports::{DeadLetters, Observe};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_testbed::eventually;

use super::{running::Running, table::rename};

/// So few attempts are allowed that each message would be buried if they were counted.
const TWO_ATTEMPTS: RetryPolicy = RetryPolicy {
    base: Duration::from_millis(1),
    cap: Duration::from_millis(1),
    max_attempts: 2,
    jitter: Jitter::None,
};

/// Three messages of which each is handled more often than it may be while `table` is away, and is acked when it is back.
pub(super) async fn waits_uncounted(
    outbox: &SeaOrmOutbox,
    queue: &QueueName,
    handler: impl Handler + 'static,
    table: &str,
) {
    let running = waits_for_table(outbox, queue, handler, table, 12).await;
    eventually("the queue is empty", || async {
        outbox.observe().await.expect("a look").iter().all(|one| one.due + one.leased == 0)
    })
    .await;
    let report = running.stop().await;
    assert_eq!((report.acked, report.buried), (3, 0));
}

/// A pipeline that was allowed two attempts at a message and has handled messages so many `times` while `table` was away; now
/// it is back.
pub(super) async fn waits_for_table(
    outbox: &SeaOrmOutbox,
    queue: &QueueName,
    handler: impl Handler + 'static,
    table: &str,
    times: usize,
) -> Running {
    rename(outbox, table, "claimstream_away").await;
    let (handler, handled) = (Arc::new(handler), Arc::<AtomicUsize>::default());
    let counting = {
        let handled = handled.clone();
        handler_fn(move |claimed| {
            let handler = handler.clone();
            handled.fetch_add(1, Ordering::SeqCst);
            async move { handler.handle(&claimed).await }
        })
    };
    let running = Running::start_with(outbox, queue, counting, TWO_ATTEMPTS);
    let dead = || async { outbox.list(&DeadLetterFilter::default(), 10).await.expect("dead letters").len() };
    eventually("four times each", || async { handled.load(Ordering::SeqCst) >= times || dead().await > 0 })
        .await;
    assert_eq!(dead().await, 0, "buried for a table that was away");
    rename(outbox, "claimstream_away", table).await;
    running
}
