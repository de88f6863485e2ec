use std::{pin::pin, time::Duration};

use claimstream_ports::Timer;
use futures::future::{Either, select};

/// What work returns within this time; `None` if it takes longer, and then it is dropped.
pub(crate) async fn within<T>(
    timer: &dyn Timer,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    match select(pin!(work), timer.sleep(limit)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}
