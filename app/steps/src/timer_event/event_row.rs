use claimstream_domain::{
    step::{Begun, NewStep, Step, StepChange, StepKey, StepResult},
    timer_event::{DecisionName, EventEnd, EventRecord, EventStatus, Tick},
};
use claimstream_ports::{
    StoreError,
    step::{LockWait, Locked, StepLedger},
};

use super::{
    RowLock,
    halt::{Halt, corrupt},
};
use crate::late_node::late_node;

/// An event as its row in the step ledger stood when it was read; decisions have rows of their own.
#[derive(Clone)]
pub(super) struct EventRow {
    key: StepKey,
    step: Step,
    pub(super) status: EventStatus,
    pub(super) record: EventRecord,
}

impl EventRow {
    /// The row of an event, if there is one.
    pub(super) async fn find<Tx: Sync>(
        ledger: &(impl StepLedger<Tx> + ?Sized),
        tx: &Tx,
        tick: &Tick,
    ) -> Result<Option<Self>, Halt> {
        let key = key(tick)?;
        let found = ledger.find(tx, &key).await?;
        found.map(|step| Self::of(tick, key, step)).transpose()
    }

    /// Begins an event by its unique key; `true` if this call began it.
    pub(super) async fn begin<Tx: Sync>(
        ledger: &(impl StepLedger<Tx> + ?Sized),
        tx: &Tx,
        tick: &Tick,
        record: EventRecord,
    ) -> Result<(Self, bool), Halt> {
        let key = key(tick)?;
        let new = NewStep::new(key.clone(), EventStatus::Init.code()).with_result(kept(record)?);
        let (step, is_new) = match ledger.begin(tx, &new).await? {
            Begun::New(step) => (step, true),
            Begun::Found(step) => (step, false),
        };
        Ok((Self::of(tick, key, step)?, is_new))
    }

    /// Makes sure that the event is still open, and locks its row for as long as `tx` lasts if that is asked for.
    pub(super) async fn guard<Tx: Sync>(
        &self,
        ledger: &(impl StepLedger<Tx> + ?Sized),
        tx: &Tx,
        row_lock: RowLock,
    ) -> Result<(), Halt> {
        let wait = match row_lock {
            RowLock::None => return self.is_unchanged(ledger.find(tx, &self.key).await?),
            RowLock::Wait => LockWait::Wait,
            RowLock::NoWait => LockWait::NoWait,
        };
        match ledger.lock(tx, &self.key, wait).await? {
            Locked::Held(step) => self.is_unchanged(Some(step)),
            Locked::Absent => self.is_unchanged(None),
            Locked::Busy => Err(Halt::Busy),
        }
    }

    /// Ends the event and notes that its timer moves on, unless it has changed since it was read.
    pub(super) async fn end<Tx: Sync>(
        &self,
        ledger: &(impl StepLedger<Tx> + ?Sized),
        tx: &Tx,
        end: EventEnd,
    ) -> Result<(), Halt> {
        let status = self.status.after(end).map_err(|_| Halt::Overtaken)?;
        self.change(ledger, tx, status).await
    }

    /// Notes that the timer moves on, unless the event has changed since it was read.
    pub(super) async fn move_on<Tx: Sync>(
        &self,
        ledger: &(impl StepLedger<Tx> + ?Sized),
        tx: &Tx,
    ) -> Result<(), Halt> {
        self.change(ledger, tx, self.status).await
    }

    /// The key of a decision's record.
    pub(super) fn decision(&self, name: &DecisionName) -> Result<StepKey, Halt> {
        Ok(self.key.sibling(&format!("decision:{name}"))?)
    }

    /// The key of the hook's record.
    pub(super) fn hook(&self) -> Result<StepKey, Halt> {
        Ok(self.key.sibling("hook")?)
    }

    async fn change<Tx: Sync>(
        &self,
        ledger: &(impl StepLedger<Tx> + ?Sized),
        tx: &Tx,
        status: EventStatus,
    ) -> Result<(), Halt> {
        let change = StepChange::to(status.code()).with_result(kept(self.record.clone().moved_on())?);
        match ledger.advance(tx, &self.key, &self.step, &change).await? {
            Some(_) => Ok(()),
            None => Err(self.changed(ledger.find(tx, &self.key).await?)),
        }
    }

    fn is_unchanged(&self, step: Option<Step>) -> Result<(), Halt> {
        match step {
            Some(step) if step.state == self.step.state && step.version == self.step.version => Ok(()),
            other => Err(self.changed(other)),
        }
    }

    /// Others have changed it, unless it is not even what it was when it was read.
    fn changed(&self, found: Option<Step>) -> Halt {
        match found {
            Some(found) if found.version >= self.step.version => Halt::Overtaken,
            _ => late_node("timer event").into(),
        }
    }

    fn of(tick: &Tick, key: StepKey, step: Step) -> Result<Self, Halt> {
        let status = EventStatus::from_code(step.state)
            .ok_or_else(|| corrupt(format!("{key} has the state {}, which no event has", step.state)))?;
        let record = EventRecord::read(step.result.as_ref().map(StepResult::as_bytes), tick);
        Ok(Self { key, step, status, record })
    }
}

/// The row's key: the scheme is who takes steps, the occurrence is the run, and the event is the run as a whole.
fn key(tick: &Tick) -> Result<StepKey, Halt> {
    Ok(StepKey::new(&format!("timer:{}", tick.scheme), &tick.unique_code(), "")?)
}

fn kept(record: EventRecord) -> Result<StepResult, StoreError> {
    let bytes = serde_json::to_vec(&record).map_err(corrupt)?;
    StepResult::new(bytes).map_err(corrupt)
}
