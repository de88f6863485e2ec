use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Fingerprint, Invalid, NewMessage, Verdict,
    step::{Begun, NewStep, Repeat, Step, StepChange, StepKey, repeat},
    tcc::{
        CarriedOut, GlobalAction, GlobalEvent, GlobalId, GlobalState, GlobalTransaction, GlobalTrigger,
        Operation,
    },
};
use claimstream_ports::{
    Enqueue, Handler, StoreError, StoreErrorKind, Timer, Transactions,
    step::StepLedger,
    tcc::{Participant, ParticipantError},
};

use super::{
    CoordinatorConfig, CoordinatorError, Decision,
    participants::Participants,
    trigger_message::{TriggerMessage, json},
};
use crate::late_node::late_node;
use claimstream::{in_transaction, work};

/// Drives global transactions over the outbox: tries every branch, then confirms all of them or cancels all of them.
///
/// A transaction is durable before its first Try: a row of the ledger says where it stands, and a check message, due at
/// the deadline, carries its branches. So whatever process dies, another one comes back to it. What decides is the row, changed
/// from the version that was read: of a coordinator that has tried everything and a check that finds the deadline passed,
/// one wins, and the other carries out its decision.
///
/// * A Try that is refused cancels all; one that fails is made again until the deadline cancels all. [`run`](Self::run) makes it again itself for
///   half of that time, and leaves the rest to the outbox.
/// * Once decided, Confirm and Cancel are repeated, with the outbox's backoff, until every participant has said `Ok`. One that
///   refuses then needs a person: it is traced as an error, and a [`TccAlarm`](super::TccAlarm) goes into
///   [`CoordinatorConfig::alarms`], once. So does one about a participant that still fails after
///   [`CoordinatorConfig::alarm_after`] deliveries.
/// * Every branch is cancelled, whether it was tried or not; a participant that never saw the Try keeps a marker.
///
/// It is the [`Handler`] of its own queue; give the pipeline the retry policy of
/// [`CoordinatorConfig::retry`].
pub struct Coordinator<S> {
    store: Arc<S>,
    timer: Arc<dyn Timer>,
    participants: Participants,
    config: CoordinatorConfig,
}

impl<S> Coordinator<S>
where
    S: Transactions + StepLedger<S::Tx> + Enqueue<S::Tx> + 'static,
{
    /// A coordinator without participants, which keeps its transactions in `store`; refuses what
    /// [`CoordinatorConfig::check`] refuses.
    pub fn new(store: Arc<S>, timer: Arc<dyn Timer>, config: CoordinatorConfig) -> Result<Self, Invalid> {
        config.check()?;
        Ok(Self { store, timer, participants: Participants::default(), config })
    }

    /// Registers a participant under the name that branches call it by; a name that is taken is refused.
    pub fn with(mut self, name: &str, participant: impl Participant + 'static) -> Result<Self, Invalid> {
        self.participants.add(name, Arc::new(participant))?;
        Ok(self)
    }

    /// How it drives.
    pub fn config(&self) -> &CoordinatorConfig {
        &self.config
    }

    /// Begins a transaction in `tx`, to be driven over the outbox once `tx` has committed.
    ///
    /// One that was begun before is left alone; under the same id, other branches are refused.
    pub async fn begin(
        &self,
        tx: &S::Tx,
        global: &GlobalTransaction,
    ) -> Result<GlobalState, CoordinatorError> {
        let step = self.record(tx, global, &[self.message(GlobalTrigger::Drive, global)?]).await?;
        Ok(state_of(&step)?)
    }

    /// Begins a transaction, tries every branch here and now, and answers the decision.
    ///
    /// A Try that fails is made again after the waits of [`CoordinatorConfig::retry`], for at most half of the deadline and 30 s. The decision is carried out over the outbox. If the caller dies or is dropped meanwhile, the check message
    /// cancels at the deadline. A call that is repeated goes on where the first one stood.
    pub async fn run(&self, global: &GlobalTransaction) -> Result<Decision, CoordinatorError> {
        let begun = in_transaction(&*self.store, &*self.timer, |tx| work(self.record(tx, global, &[])));
        let step = begun.await?;
        if state_of(&step)? != GlobalState::Trying {
            return Ok(Decision::of(state_of(&step)?, None));
        }
        let (retry, timeout) = (&self.config.retry, (self.config.deadline / 2).min(TRY_TIMEOUT));
        let tried = self.participants.try_all_within(timeout, global, retry, &*self.timer).await;
        let drive = [self.message(GlobalTrigger::Drive, global)?];
        let state = match &tried {
            Ok(()) => self.note(&global.gid, &step, GlobalEvent::AllTried, &drive).await?,
            Err(ParticipantError::Refused { .. }) => {
                self.note(&global.gid, &step, GlobalEvent::TryFailed, &drive).await?
            }
            Err(ParticipantError::Failed { .. }) => self.leave(&global.gid, &drive).await?,
        };
        Ok(Decision::of(state, tried.err()))
    }

    /// Where a transaction stands; `None` if it was never begun, or ended so long ago that it has been purged.
    pub async fn state(&self, gid: &GlobalId) -> Result<Option<GlobalState>, CoordinatorError> {
        let found = in_transaction(&*self.store, &*self.timer, |tx| work(self.find(tx, gid))).await?;
        Ok(found.as_ref().map(state_of).transpose()?)
    }

    /// Makes a transaction durable with its check message, and with `others`, if it is new.
    async fn record(
        &self,
        tx: &S::Tx,
        global: &GlobalTransaction,
        others: &[NewMessage],
    ) -> Result<Step, CoordinatorError> {
        global.check()?;
        if let Some(name) = self.participants.unknown(global) {
            return Err(CoordinatorError::UnknownParticipant(name.to_owned()));
        }
        let fingerprint = Fingerprint::of(&[&json(global)?]);
        // What no message can carry is refused before anything is written.
        let check = self.message(GlobalTrigger::Check, global)?.deliver_after(self.config.deadline);
        let new = NewStep::new(key(&global.gid)?, GlobalState::Trying.code()).asked_with(fingerprint);
        match self.store.begin(tx, &new).await? {
            Begun::New(step) => {
                let messages: Vec<NewMessage> = others.iter().cloned().chain([check]).collect();
                self.store.enqueue(tx, &messages).await?;
                Ok(step)
            }
            Begun::Found(step) => match repeat(Some(&fingerprint), &step) {
                Repeat::Same(_) => Ok(step),
                Repeat::Conflict => Err(CoordinatorError::IdTaken(global.gid.clone())),
            },
        }
    }

    /// Does what there is to do until the transaction has ended or a participant does not say that it is done.
    async fn attend(
        &self,
        trigger: GlobalTrigger,
        global: &GlobalTransaction,
        is_late: bool,
    ) -> Result<(), CoordinatorError> {
        let gid = &global.gid;
        loop {
            let found = in_transaction(&*self.store, &*self.timer, |tx| work(self.find(tx, gid))).await?;
            let step = found.ok_or_else(|| CoordinatorError::UnknownTransaction(gid.clone()))?;
            let state = state_of(&step)?;
            let put_off = |error| CoordinatorError::Participant { gid: gid.clone(), state, error };
            let event = match state.next_action(trigger) {
                GlobalAction::Nothing => return Ok(()),
                GlobalAction::Note(event) => event,
                GlobalAction::TryAll => match self.participants.try_all(global).await {
                    Ok(()) => GlobalEvent::AllTried,
                    Err(ParticipantError::Refused { reason }) => {
                        tracing::info!(%gid, %reason, "tcc.try.refused");
                        GlobalEvent::TryFailed
                    }
                    Err(failed) => return Err(put_off(failed)),
                },
                GlobalAction::ConfirmAll => {
                    self.end_all(global, &step, Operation::Confirm, is_late).await?.map_err(put_off)?;
                    GlobalEvent::AllConfirmed
                }
                GlobalAction::CancelAll => {
                    self.end_all(global, &step, Operation::Cancel, is_late).await?.map_err(put_off)?;
                    GlobalEvent::AllCancelled
                }
            };
            self.note(gid, &step, event, &[]).await?;
        }
    }

    /// Confirms or cancels every branch, keeps which have carried that out if others have not, and raises an alarm for each participant
    /// that refuses, or has failed many times.
    async fn end_all(
        &self,
        global: &GlobalTransaction,
        step: &Step,
        operation: Operation,
        is_late: bool,
    ) -> Result<Result<(), ParticipantError>, CoordinatorError> {
        let before = CarriedOut::read(step.result.as_ref()).map_err(corrupt)?;
        let ended = self.participants.end_all(global, operation, is_late, &before).await;
        if ended.first.is_err() && ended.done != before {
            let change = StepChange::to(step.state).with_result(ended.done.result()?);
            in_transaction(&*self.store, &*self.timer, |tx| {
                work(async {
                    Ok::<_, CoordinatorError>(
                        self.store.advance(tx, &key(&global.gid)?, step, &change).await?,
                    )
                })
            })
            .await?;
        }
        if !ended.alarms.is_empty() {
            let alarms = ended.alarms.iter().map(|alarm| alarm.message(self.config.alarms.clone()));
            let alarms = alarms.collect::<Result<Vec<_>, Invalid>>()?;
            let raised: Result<_, CoordinatorError> = in_transaction(&*self.store, &*self.timer, |tx| {
                work(async { Ok(self.store.enqueue(tx, &alarms).await?) })
            })
            .await;
            raised?;
        }
        Ok(ended.first)
    }

    /// Leaves a transaction to `messages` if nothing is decided about it; answers where it stands.
    async fn leave(&self, gid: &GlobalId, messages: &[NewMessage]) -> Result<GlobalState, CoordinatorError> {
        in_transaction(&*self.store, &*self.timer, |tx| {
            work(async {
                let found = self.find(tx, gid).await?.ok_or_else(|| late_node("global transaction"))?;
                let state = state_of(&found)?;
                if state == GlobalState::Trying {
                    self.store.enqueue(tx, messages).await?;
                }
                Ok(state)
            })
        })
        .await
    }

    /// Lets an event happen to a transaction that still is as `step` says, and enqueues `messages` with it; answers where
    /// the transaction stands then, which another process may have decided.
    async fn note(
        &self,
        gid: &GlobalId,
        step: &Step,
        event: GlobalEvent,
        messages: &[NewMessage],
    ) -> Result<GlobalState, CoordinatorError> {
        let Some(next) = state_of(step)?.next(event) else { return Ok(state_of(step)?) };
        let noted = in_transaction(&*self.store, &*self.timer, |tx| {
            work(self.advance(tx, gid, step, next, messages))
        });
        let state = state_of(&noted.await?)?;
        tracing::info!(%gid, ?event, ?state, "tcc.global");
        Ok(state)
    }

    async fn advance(
        &self,
        tx: &S::Tx,
        gid: &GlobalId,
        step: &Step,
        next: GlobalState,
        messages: &[NewMessage],
    ) -> Result<Step, CoordinatorError> {
        match self.store.advance(tx, &key(gid)?, step, &StepChange::to(next.code())).await? {
            Some(moved) => {
                if !messages.is_empty() {
                    self.store.enqueue(tx, messages).await?;
                }
                Ok(moved)
            }
            None => match self.find(tx, gid).await? {
                Some(found) if found.version >= step.version => Ok(found),
                _ => Err(late_node("global transaction").into()),
            },
        }
    }

    async fn find(&self, tx: &S::Tx, gid: &GlobalId) -> Result<Option<Step>, CoordinatorError> {
        Ok(self.store.find(tx, &key(gid)?).await?)
    }

    fn message(&self, trigger: GlobalTrigger, global: &GlobalTransaction) -> Result<NewMessage, Invalid> {
        TriggerMessage::write(&self.config.queue, trigger, global)
    }
}

#[async_trait]
impl<S> Handler for Coordinator<S>
where
    S: Transactions + StepLedger<S::Tx> + Enqueue<S::Tx> + 'static,
{
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let TriggerMessage { trigger, global } = match TriggerMessage::read(&claimed.message.payload) {
            Ok(message) => message,
            Err(error) => return Verdict::bury(error),
        };
        let is_late = claimed.attempt >= self.config.alarm_after;
        match self.attend(trigger, &global, is_late).await {
            Ok(()) => Verdict::ack(),
            Err(error @ CoordinatorError::UnknownTransaction(_)) if claimed.attempt >= LOOKS => {
                Verdict::bury(error)
            }
            Err(error) => put_off(&error),
        }
    }
}

impl<S> fmt::Debug for Coordinator<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("participants", &self.participants)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The longest that `run` tries again.
const TRY_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a message comes whose transaction is not there before it is buried: the node that is asked may not yet have carried out
/// what another one has committed.
const LOOKS: u32 = 5;

fn put_off(error: &CoordinatorError) -> Verdict {
    let after = match error {
        CoordinatorError::Participant { error: ParticipantError::Failed { retry_after, .. }, .. } => {
            *retry_after
        }
        _ => None,
    };
    Verdict::Nack { after, reason: claimstream_domain::Reason::new(error) }
}

/// Under which scope global transactions stand in the ledger; part of the stored format.
pub(super) const SCOPE: &str = "tcc-global";

fn key(gid: &GlobalId) -> Result<StepKey, Invalid> {
    StepKey::new(SCOPE, gid.as_str(), "")
}

fn state_of(step: &Step) -> Result<GlobalState, StoreError> {
    let unknown = || corrupt(format!("its state is {}", step.state));
    GlobalState::from_code(step.state).ok_or_else(unknown)
}

fn corrupt(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "global transaction", why)
}
