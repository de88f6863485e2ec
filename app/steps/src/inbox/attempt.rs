use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use claimstream_domain::step::StepResult;
use claimstream_ports::{Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;

use super::{Consumer, InboxError, InboxMessage, Once, StepError, once::once_written, step_error::Failure};
use crate::effect::{self, StepWrite};
use claimstream::work;

/// Has an effect once in a transaction of its own, and says of a failure whose it is.
pub(super) async fn attempt<S, M, F>(
    store: &S,
    timer: &dyn Timer,
    consumer: &Consumer,
    message: &M,
    effect: &F,
) -> Result<Once, Failure>
where
    S: Transactions + StepLedger<<S as Transactions>::Tx>,
    M: Sync,
    for<'m> InboxMessage: From<&'m M>,
    F: for<'tx> Fn(&'tx S::Tx, &'tx M) -> BoxFuture<'tx, Result<StepResult, StepError>> + Sync,
{
    let key = InboxMessage::from(message).key(consumer);
    let key = key.map_err(|invalid| StepError::from(InboxError::from(invalid)).failure(false))?;
    let (written, begun) = (&StepWrite::of(&key), &AtomicBool::new(false));
    let done = effect::effect(store, timer, written, |tx| {
        work(async move {
            begun.store(false, Relaxed);
            let effect = |tx| {
                begun.store(true, Relaxed);
                effect(tx, message)
            };
            once_written(store, tx, consumer, message.into(), written, effect).await
        })
    });
    done.await.map_err(|error: StepError| error.failure(begun.load(Relaxed)))
}
