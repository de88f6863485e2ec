use std::sync::{Mutex, PoisonError};

use claimstream::{StoreError, TransactionError, Work, in_proven_transaction, in_transaction, work};
use claimstream_domain::step::{Begun, NewStep, Step, StepChange, StepKey};
use claimstream_ports::{Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;
use uuid::Uuid;

/// Has an effect in the transaction that writes its step, and proves after a failure that the step is gone with it.
///
/// A statement that commits by itself, such as DDL, `COMMIT` or `LOCK TABLES`, leaves the step and a part of the effect, and a roll-back
/// after it answers Ok all the same. Such a step is marked as broken, so that the effect is not taken for one that was had.
pub(crate) async fn effect<'env, S, T, E>(
    store: &'env S,
    timer: &'env dyn Timer,
    written: &'env StepWrite,
    attempt: impl for<'tx> FnMut(&'tx S::Tx) -> Work<'env, 'tx, Result<T, E>> + Send,
) -> Result<T, E>
where
    S: Transactions + StepLedger<S::Tx> + ?Sized,
    T: Send,
    E: TransactionError + From<BrokenStep>,
{
    let undone = || -> BoxFuture<'env, Result<(), E>> {
        Box::pin(async { written.is_undone(store, timer).await.map_err(E::from) })
    };
    in_proven_transaction(store, timer, attempt, undone).await
}

/// What a transaction has written of the step of its effect.
pub(crate) struct StepWrite {
    key: StepKey,
    last: Mutex<Option<Uuid>>,
}

/// A part of an effect stands though the effect failed; its step is marked as broken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the effect of step {0} failed, and a part of it stands, because a statement of it commits by itself (DDL, COMMIT, BEGIN, LOCK TABLES \
     and the like); complete the effect by hand and set the state of the row, or take it back and delete the row"
)]
pub(crate) struct BrokenStep(pub(crate) StepKey);

impl StepWrite {
    pub(crate) fn of(key: &StepKey) -> Self {
        Self { key: key.clone(), last: Mutex::default() }
    }

    pub(crate) fn key(&self) -> &StepKey {
        &self.key
    }

    /// Begins the step, and remembers it if it is new.
    pub(crate) async fn begin<Tx: Sync + ?Sized>(
        &self,
        ledger: &(impl StepLedger<Tx> + ?Sized),
        tx: &Tx,
        step: &NewStep,
    ) -> Result<Begun, StoreError> {
        let begun = ledger.begin(tx, step).await?;
        if let Begun::New(step) = &begun {
            self.note(step);
        }
        Ok(begun)
    }

    /// Remembers how the transaction has left the step.
    pub(crate) fn note(&self, step: &Step) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(step.origin);
    }

    /// Whether nothing of what was written stands; marks the step otherwise.
    async fn is_undone<S>(&self, store: &S, timer: &dyn Timer) -> Result<(), BrokenStep>
    where
        S: Transactions + StepLedger<S::Tx> + ?Sized,
    {
        let Some(mine) = self.last.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(());
        };
        let marked: Result<bool, StoreError> = in_transaction(store, timer, |tx| {
            work(async move {
                let Some(found) = store.find(tx, &self.key).await?.filter(|found| found.origin == mine)
                else {
                    return Ok(false);
                };
                let broken = StepChange::to(Step::BROKEN);
                Ok(store.advance(tx, &self.key, &found, &broken).await?.is_some())
            })
        })
        .await;
        match marked {
            Ok(false) => Ok(()),
            Ok(true) => {
                tracing::error!(step = %self.key, "step.broken");
                Err(BrokenStep(self.key.clone()))
            }
            Err(error) => {
                tracing::warn!(step = %self.key, %error, "step.roll_back.not_proven");
                Ok(())
            }
        }
    }
}

/// Refuses a step of which a part stands.
pub(crate) fn whole(key: &StepKey, found: &Step) -> Result<(), BrokenStep> {
    if found.is_broken() { Err(BrokenStep(key.clone())) } else { Ok(()) }
}
