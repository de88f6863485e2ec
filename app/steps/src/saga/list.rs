use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::{
    Enqueued, Invalid, NewMessage, QueueName, Reason,
    saga::{NewSaga, SagaEntry, SagaId, SagaOrderKind, SagaRecord, SagaState},
    step::{Repeat, StepKey, repeat},
};
use claimstream_ports::{LockGuard, StoreErrorKind};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    SagaConfig, SagaError, SagaHome, SagaOutcome, SagaReport, SagaRun, SagaTally, StepFailure,
    alarm::{SagaAlarm, SagaAlarmKind},
    drive::Drive,
    entered::Entered,
    failure::Halt,
    parts::SagaParts,
    row::{Opened, SagaRow},
    tally::Counters,
};
use crate::effect::StepWrite;
use claimstream::{in_transaction, work};

/// A kind of saga: its list of steps, and everything that can be asked of sagas of this kind.
///
/// Clones are handles on the same.
pub struct Saga<I, H: SagaHome>(Arc<SagaParts<I, H>>);

impl<I, H> Saga<I, H>
where
    I: Serialize + DeserializeOwned + Send + Sync + 'static,
    H: SagaHome + 'static,
{
    /// Begins a saga and runs it until it ends or something is in the way.
    ///
    /// Its row and its check message are written first, in one transaction. Asked again with the same id, owner and input,
    /// it continues the same saga.
    pub async fn start(&self, id: SagaId, owner: &str, input: I) -> Result<SagaOutcome, SagaError> {
        let run = self.run(id, owner, input)?;
        let opened = self.0.open(&run, SagaState::Init).await.map_err(|e| self.refused(&run, e))?;
        let entered = match opened {
            Opened::New(row) | Opened::Found(row) => self.enter_from(&run, SagaEntry::Start, Some(row)).await,
            Opened::Taken => self.enter(&self.asked_as(&run).await?, SagaEntry::Start).await,
        };
        entered.map(Entered::outcome)
    }

    /// Asks for a saga inside a transaction of its home; a pipeline on its [queue](Self::queue) runs it at once.
    ///
    /// A `Duplicate` is one that was asked for before with the same input as JSON; any other use of its id is [`Taken`](SagaError::Taken). The
    /// input that it was begun with is not read for it, which would need a second connection.
    pub async fn submit(&self, tx: &H::Tx, id: SagaId, owner: &str, input: I) -> Result<Enqueued, SagaError> {
        let run = self.run(id, owner, input)?;
        let opened = async {
            let message = self.0.message(&run, SagaOrderKind::New)?;
            self.0.open_in(tx, &run, SagaState::Init, &message, &StepWrite::of(&run.row)).await
        };
        match opened.await.map_err(|e| self.refused(&run, e))? {
            Opened::New(_) => Ok(Enqueued::New),
            Opened::Found(_) => Ok(Enqueued::Duplicate),
            Opened::Taken => Err(SagaError::Taken(id)),
        }
    }

    /// The message that asks for a saga, or for something to be done with it, to be enqueued in any outbox whose messages
    /// come to this saga's handler.
    pub fn order(
        &self,
        order: SagaOrderKind,
        id: SagaId,
        owner: &str,
        input: I,
    ) -> Result<NewMessage, SagaError> {
        let run = self.run(id, owner, input)?;
        self.0.message(&run, order).map_err(|e| self.refused(&run, e))
    }

    /// Continues a saga, as its check message does.
    pub async fn proceed(&self, id: SagaId) -> Result<SagaOutcome, SagaError> {
        let record = self.0.home.saga(self.scope(), id).await?.ok_or(SagaError::Unknown(id))?;
        if record.row.is_none() {
            return Err(SagaError::Forgotten(id));
        }
        self.enter(&self.recorded(record)?, SagaEntry::Check).await.map(Entered::outcome)
    }

    /// The sagas that `owner` has asked for, newest first, after the saga `after` if it is given, at most `limit`.
    pub async fn mine(
        &self,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaReport<I>>, SagaError> {
        let records = self.0.home.sagas_of(self.scope(), owner, after, limit).await?;
        Ok(records.into_iter().map(SagaReport::of).collect())
    }

    /// The queue of its messages, for the pipeline that has this saga as its handler.
    pub fn queue(&self) -> QueueName {
        self.0.queue.clone()
    }

    /// How it was configured.
    pub fn config(&self) -> &SagaConfig {
        &self.0.config
    }

    /// What this value and its clones have done.
    pub fn tally(&self) -> SagaTally {
        self.0.counters.tally()
    }

    /// Brings a saga to its end or as far as it comes, beginning with a look at its row.
    ///
    /// Its steps get the input that it was begun with, whatever the message holds that leads here.
    pub(super) async fn enter(&self, run: &SagaRun<I>, entry: SagaEntry) -> Result<Entered, SagaError> {
        let row = match self.0.find(run).await {
            Ok(row) => row,
            Err(failure) => return self.halted(run, failure.into()).await,
        };
        let is_other = |row: &SagaRow| repeat(Some(&run.fingerprint()), &row.step) == Repeat::Conflict;
        if !row.as_ref().is_some_and(is_other) {
            return self.enter_from(run, entry, row).await;
        }
        let stored = match self.stored(run).await {
            Ok(Some(stored)) => stored,
            Ok(None) => {
                let why = Reason::new("it was begun with another input, which is not recorded any more");
                return self.halted(run, Halt::Invariant(why)).await;
            }
            Err(SagaError::Store(error)) => return self.halted(run, error.into()).await,
            Err(unreadable) => return self.halted(run, Halt::Invariant(Reason::new(unreadable))).await,
        };
        let is_same = stored.is_asked_as(run)?;
        if !is_same && entry == SagaEntry::Start {
            let why = Reason::new("its id belongs to a saga about something else");
            return self.halted(run, Halt::Invariant(why)).await;
        }
        if !is_same {
            tracing::warn!(saga = %run.row, "saga.order.other_input");
        }
        self.enter_from(&stored, entry, row).await
    }

    /// The saga that has this id, if it was asked for with the same as this one; where its input gained a field since, as it was begun.
    async fn asked_as(&self, run: &SagaRun<I>) -> Result<SagaRun<I>, SagaError> {
        match self.stored(run).await? {
            Some(stored) if stored.is_asked_as(run)? => Ok(stored),
            _ => Err(SagaError::Taken(run.id)),
        }
    }

    /// The saga as it was begun, if it is recorded.
    async fn stored(&self, run: &SagaRun<I>) -> Result<Option<SagaRun<I>>, SagaError> {
        let record = self.0.home.saga(self.scope(), run.id).await?;
        record.map(|record| self.recorded(record)).transpose()
    }

    fn recorded(&self, record: SagaRecord) -> Result<SagaRun<I>, SagaError> {
        let input = serde_json::from_str(&record.input)
            .map_err(|e| Invalid::Malformed { what: "saga input", why: e.to_string() })?;
        let (row, id) = (self.row(record.id)?, record.id);
        Ok(SagaRun { row, id, owner: record.owner, json: record.input, input })
    }

    async fn enter_from(
        &self,
        run: &SagaRun<I>,
        entry: SagaEntry,
        row: Option<SagaRow>,
    ) -> Result<Entered, SagaError> {
        let guard = match self.lock(run).await {
            Ok(guard) => guard,
            Err(held) => {
                Counters::count(&self.0.counters.put_off);
                tracing::debug!(saga = %run.row, "saga.busy");
                return Ok(Entered::Busy(held));
            }
        };
        let ended = Drive::enter(&self.0, run, entry, row).drive_on().await;
        self.unlock(guard).await;
        match ended {
            Ok(outcome) => {
                self.count(&outcome);
                Ok(Entered::Ran(outcome))
            }
            Err(halt) => self.halted(run, halt).await,
        }
    }

    async fn halted(&self, run: &SagaRun<I>, halt: Halt) -> Result<Entered, SagaError> {
        match halt {
            Halt::Transient(reason) => {
                Counters::count(&self.0.counters.put_off);
                tracing::warn!(saga = %run.row, %reason, "saga.put_off");
                Ok(Entered::Ran(SagaOutcome::Underway { reason }))
            }
            Halt::Invariant(reason) | Halt::Business(reason) => {
                tracing::error!(saga = %run.row, %reason, "saga.broken");
                self.alarm(run.id, SagaAlarmKind::Broken, &reason).await?;
                Err(SagaError::Broken { saga: run.id, reason })
            }
        }
    }

    /// Enqueues an alarm; a second one of the same saga about the same is not taken in.
    pub(super) async fn alarm(
        &self,
        saga: SagaId,
        kind: SagaAlarmKind,
        reason: &Reason,
    ) -> Result<(), SagaError> {
        let (home, alarm) = (&self.0.home, SagaAlarm::new(self.scope(), saga, kind, reason));
        let message = alarm.message(self.0.config.alarms.clone())?;
        let enqueued: Result<Vec<Enqueued>, SagaError> = in_transaction(home, &*self.0.timer, |tx| {
            work(async { Ok(home.enqueue(tx, std::slice::from_ref(&message)).await?) })
        })
        .await;
        if enqueued?.contains(&Enqueued::New) {
            Counters::count(&self.0.counters.alarms);
        }
        Ok(())
    }

    /// The lock if there is one and it can be had; it only saves work, so that a lock that cannot be asked is none. An error is the time
    /// after which to look whether another runner still holds it.
    async fn lock(&self, run: &SagaRun<I>) -> Result<Option<LockGuard>, Duration> {
        let Some((lock, lease)) = &self.0.lock else { return Ok(None) };
        match lock.try_acquire(&run.row.to_string(), *lease).await {
            Ok(Some(guard)) => Ok(Some(guard)),
            // That runner may let go at any moment, and this message alone continues a saga that it leaves.
            Ok(None) => Err(lease.duration().min(self.config().check_after)),
            Err(error) => {
                tracing::warn!(saga = %run.row, %error, "saga.lock.unavailable");
                Ok(None)
            }
        }
    }

    async fn unlock(&self, guard: Option<LockGuard>) {
        if let (Some((lock, _)), Some(guard)) = (&self.0.lock, guard)
            && let Err(error) = lock.release(guard).await
        {
            // It lapses by itself.
            tracing::debug!(%error, "saga.lock.not_released");
        }
    }

    fn count(&self, outcome: &SagaOutcome) {
        let counters = &self.0.counters;
        match outcome {
            // Counted by the process that moved the row there.
            SagaOutcome::Finish | SagaOutcome::Fail { .. } => {}
            SagaOutcome::Underway { .. } => Counters::count(&counters.put_off),
            SagaOutcome::TooLate { .. } => Counters::count(&counters.too_late),
        }
    }

    fn run(&self, id: SagaId, owner: &str, input: I) -> Result<SagaRun<I>, SagaError> {
        let json = lasting(&input).map_err(|why| Invalid::Malformed { what: "saga input", why })?;
        self.run_of(id, owner, json, input)
    }

    pub(super) fn run_of(
        &self,
        id: SagaId,
        owner: &str,
        json: String,
        input: I,
    ) -> Result<SagaRun<I>, SagaError> {
        let run = SagaRun { row: self.row(id)?, id, owner: owner.into(), json: json.into(), input };
        let (scope, owner, input) = (self.scope().into(), run.owner.clone(), run.json.clone());
        NewSaga { scope, id, owner, input }.check()?;
        Ok(run)
    }

    fn row(&self, id: SagaId) -> Result<StepKey, Invalid> {
        StepKey::new(self.scope(), &id.to_string(), "")
    }

    fn scope(&self) -> &str {
        self.0.queue.as_str()
    }

    /// Why a saga's first row could not be written.
    fn refused(&self, run: &SagaRun<I>, failure: StepFailure) -> SagaError {
        match failure {
            // There is a note of its id, and no row.
            StepFailure::Store(error) if error.kind() == StoreErrorKind::Conflict => {
                SagaError::Forgotten(run.id)
            }
            StepFailure::Store(error) => SagaError::Store(error),
            StepFailure::Business(reason)
            | StepFailure::Transient(reason)
            | StepFailure::Invariant(reason) => SagaError::Broken { saga: run.id, reason },
        }
    }
}

/// The JSON of an input that comes back from its messages as it went into them; otherwise the runner that continues the saga would
/// have another one.
fn lasting<I: Serialize + DeserializeOwned>(input: &I) -> Result<String, String> {
    let refused = |e: serde_json::Error| e.to_string();
    let json = serde_json::to_string(input).map_err(refused)?;
    // A message holds it within its order, one level deeper.
    let (carried,): (serde_json::Value,) = serde_json::from_str(&format!("[{json}]")).map_err(refused)?;
    let back: I = serde_json::from_value(carried).map_err(refused)?;
    if serde_json::to_string(&back).map_err(refused)? == json {
        return Ok(json);
    }
    Err("it does not come back from JSON as it went; use maps that have an order, and numbers of at most 64 bits".into())
}

impl<I, H: SagaHome> Saga<I, H> {
    pub(super) fn of(parts: SagaParts<I, H>) -> Self {
        Self(Arc::new(parts))
    }
}

impl<I, H: SagaHome> Clone for Saga<I, H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I, H: SagaHome> fmt::Debug for Saga<I, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<&str> = self.0.steps.iter().map(|step| step.name()).collect();
        f.debug_struct("Saga")
            .field("queue", &self.0.queue)
            .field("steps", &steps)
            .field("pivot", &self.0.plan.pivot())
            .finish_non_exhaustive()
    }
}
