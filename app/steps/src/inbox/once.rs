use std::future::Future;

use claimstream_domain::{
    Invalid, Reason,
    step::{Begun, NewStep, Repeat, Step, StepChange, StepKey, StepResult, repeat},
};
use claimstream_ports::{StoreError, StoreErrorKind, step::StepLedger};

use super::{Consumer, InboxMessage};
use crate::effect::{BrokenStep, StepWrite, whole};
use claimstream::TransactionError;

/// Whether the effect happened now or before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Once {
    /// It happened now, and exists if and only if the transaction commits.
    Done(StepResult),
    /// It happened before; this is what it answered then.
    Repeated(StepResult),
}

impl Once {
    /// What the effect answered, whether it happened now or before.
    pub fn result(&self) -> &StepResult {
        match self {
            Self::Done(result) | Self::Repeated(result) => result,
        }
    }
}

/// Why an inbox did not let an effect happen.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// The ledger failed; roll back.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The message cannot be remembered by this id.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The id is known, with another payload. Trying again does not help.
    #[error(
        "{consumer} has had a message {id:?} with another payload; two different messages must not share an id"
    )]
    Conflict {
        /// The consumer that had it.
        consumer: Consumer,
        /// Its id.
        id: Box<str>,
    },
    /// A part of the effect stands though the effect failed. Trying again does not help.
    #[error("{0}")]
    Broken(Reason),
}

impl From<BrokenStep> for InboxError {
    fn from(broken: BrokenStep) -> Self {
        Self::Broken(Reason::new(broken))
    }
}

impl TransactionError for InboxError {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Invalid(_) | Self::Conflict { .. } | Self::Broken(_) => None,
        }
    }
}

/// The only state: a step that is there has had its effect, because both are committed together.
const DONE: u8 = 1;

pub(super) async fn once<'tx, S, Tx, Fut, E>(
    store: &S,
    tx: &'tx Tx,
    consumer: &Consumer,
    message: InboxMessage,
    effect: impl FnOnce(&'tx Tx) -> Fut,
) -> Result<Once, E>
where
    S: StepLedger<Tx> + ?Sized,
    Tx: Sync + ?Sized,
    Fut: Future<Output = Result<StepResult, E>>,
    E: From<InboxError>,
{
    let key = message.key(consumer).map_err(InboxError::from)?;
    let written = StepWrite::of(&key);
    once_written(store, tx, consumer, message, &written, effect).await
}

/// The same for a transaction whose roll-back is proven: `written` is of the message's key.
pub(super) async fn once_written<'tx, S, Tx, Fut, E>(
    store: &S,
    tx: &'tx Tx,
    consumer: &Consumer,
    message: InboxMessage,
    written: &StepWrite,
    effect: impl FnOnce(&'tx Tx) -> Fut,
) -> Result<Once, E>
where
    S: StepLedger<Tx> + ?Sized,
    Tx: Sync + ?Sized,
    Fut: Future<Output = Result<StepResult, E>>,
    E: From<InboxError>,
{
    let key = message.key(consumer).map_err(InboxError::from)?;
    let step = NewStep::new(key, DONE).asked_with(message.fingerprint);
    match written.begin(store, tx, &step).await.map_err(InboxError::from)? {
        Begun::Found(found) => {
            whole(&step.key, &found).map_err(InboxError::from)?;
            Ok(Once::Repeated(answer(consumer, message, &found)?))
        }
        Begun::New(begun) => {
            let result = effect(tx).await?;
            keep(store, tx, &step.key, &begun, &result).await?;
            Ok(Once::Done(result))
        }
    }
}

fn answer(consumer: &Consumer, message: InboxMessage, found: &Step) -> Result<StepResult, InboxError> {
    match repeat(Some(&message.fingerprint), found) {
        Repeat::Same(result) => Ok(result.cloned().unwrap_or_default()),
        Repeat::Conflict => Err(InboxError::Conflict { consumer: consumer.clone(), id: message.id }),
    }
}

/// An answer of nothing needs no second write.
async fn keep<Tx: Sync + ?Sized>(
    store: &(impl StepLedger<Tx> + ?Sized),
    tx: &Tx,
    key: &StepKey,
    begun: &Step,
    result: &StepResult,
) -> Result<(), InboxError> {
    if result.as_bytes().is_empty() {
        return Ok(());
    }
    let change = StepChange::to(DONE).with_result(result.clone());
    match store.advance(tx, key, begun, &change).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::new(
            StoreErrorKind::Corrupt,
            "keep a result",
            format!("the step {key} was changed by another transaction while its own was open"),
        )
        .into()),
    }
}
