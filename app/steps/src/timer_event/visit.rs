use claimstream_domain::{
    Due, QueueName, Reason, Timestamp,
    step::{Begun, NewStep, StepKey},
    timer_event::{Course, DecisionName, EventEnd, EventRecord, EventStatus, Round, RoundEnd, Tick, course},
};
use claimstream_ports::Timer;

use super::{
    EventInfo, EventScheme, EventStore, RowLock, Ticked, TimedOut,
    decision::{Decision, DecisionEffect, Local, Remote},
    event_row::EventRow,
    halt::Halt,
    next_ticks::enqueue_ticks,
};
use crate::effect::{StepWrite, effect as effect_of_step, whole};
use claimstream::{in_transaction, work};

/// One tick's visit to its event.
pub(super) struct TickRun<'a, S: EventStore> {
    pub(super) store: &'a S,
    pub(super) timer: &'a dyn Timer,
    pub(super) queue: &'a QueueName,
    pub(super) scheme: &'a EventScheme<S::Tx>,
    pub(super) tick: &'a Tick,
}

impl<S: EventStore> TickRun<'_, S> {
    /// Does what the event needs now: its decisions, its end, its timeout, or nothing but a timer that moves on.
    pub(super) async fn make(&self) -> Result<Ticked, Halt> {
        let now = self.now().await?;
        let Some(row) = self.open(now).await? else {
            self.pass_over(now).await?;
            return Ok(Ticked::Stale);
        };
        match course(row.status, row.record.since(now), self.scheme.deadline) {
            Course::Run => self.run(&row).await,
            Course::TimeOut => self.time_out(&row, now).await,
            Course::Complete => self.complete(&row, now).await,
        }
    }

    /// The store's time. A tick is handled when its occurrence is due, so it is never earlier than that.
    async fn now(&self) -> Result<Timestamp, Halt> {
        let late = self.store.late(Due::At(self.tick.occurrence)).await?;
        Ok(self.tick.moment(late))
    }

    /// The event's row, begun if it is not there; `None` if it is not to be begun any more.
    ///
    /// The look beforehand only spares a repeated tick the wait for the holder of the row; the unique key decides.
    async fn open(&self, now: Timestamp) -> Result<Option<EventRow>, Halt> {
        let (store, tick) = (self.store, self.tick);
        in_transaction(store, self.timer, |tx| {
            work(async move {
                if let Some(row) = EventRow::find(store, tx, tick).await? {
                    return Ok(Some(row));
                }
                if !self.scheme.schedule.has(tick.occurrence) {
                    return Ok(None);
                }
                let record = EventRecord::begin(now, self.queue);
                let (row, is_new) = EventRow::begin(store, tx, tick, record).await?;
                if is_new {
                    let deadline = tick.deadline_message(self.queue, self.scheme.deadline)?;
                    store.enqueue(tx, &[deadline]).await?;
                }
                Ok(Some(row))
            })
        })
        .await
    }

    async fn run(&self, row: &EventRow) -> Result<Ticked, Halt> {
        let decisions = &self.scheme.decisions;
        let mut round = Round::new(decisions.len(), self.scheme.policy);
        let mut failed = Vec::new();
        while let Some(at) = round.next() {
            let decided = self.decide(row, &decisions[at]).await;
            let why = match decided {
                Ok(()) => None,
                Err(Halt::Busy) => return Ok(Ticked::Busy),
                Err(Halt::Overtaken) => return Ok(self.overtaken()),
                Err(Halt::Failed(why)) => Some(why),
                Err(Halt::Store(error)) => Some(Reason::new(error)),
            };
            round.note(why.is_none());
            failed.extend(why.map(|why| (decisions[at].name.clone(), why)));
        }
        match round.end() {
            Some(RoundEnd::Succeeded) => self.succeed(row).await,
            _ => Ok(self.failed(failed)),
        }
    }

    async fn decide(&self, row: &EventRow, decision: &Decision<S::Tx>) -> Result<(), Halt> {
        let key = row.decision(&decision.name)?;
        match &decision.effect {
            DecisionEffect::Local(effect) => self.decide_here(row, &key, &**effect).await,
            DecisionEffect::Remote(call) => self.decide_elsewhere(row, &key, &decision.name, &**call).await,
        }
    }

    /// The effect and its record in one transaction.
    async fn decide_here(&self, row: &EventRow, key: &StepKey, effect: &Local<S::Tx>) -> Result<(), Halt> {
        let (store, event, written) = (self.store, &EventInfo::of(self.tick), &StepWrite::of(key));
        effect_of_step(store, self.timer, written, |tx| {
            work(async move {
                row.guard(store, tx, self.scheme.row_lock).await?;
                match written.begin(store, tx, &NewStep::new(key.clone(), DECIDED)).await? {
                    Begun::New(_) => Ok(effect(tx, event).await?),
                    Begun::Found(found) => Ok(whole(key, &found)?),
                }
            })
        })
        .await
    }

    /// The effect first and its record afterwards; between two transactions, or in one if the row is to stay locked.
    async fn decide_elsewhere(
        &self,
        row: &EventRow,
        key: &StepKey,
        name: &DecisionName,
        call: &Remote,
    ) -> Result<(), Halt> {
        let (store, event) = (self.store, &EventInfo::of(self.tick));
        let is_alone = self.scheme.row_lock == RowLock::None;
        let call_key = event.id.decision_key(name);
        let is_done = in_transaction(store, self.timer, |tx| {
            work(async move {
                row.guard(store, tx, self.scheme.row_lock).await?;
                let is_recorded = store.find(tx, key).await?.is_some();
                if is_recorded || is_alone {
                    return Ok::<_, Halt>(is_recorded);
                }
                call(event, call_key).await?;
                store.begin(tx, &NewStep::new(key.clone(), DECIDED)).await?;
                Ok(true)
            })
        })
        .await?;
        if is_done {
            return Ok(());
        }
        call(event, call_key).await?;
        in_transaction(store, self.timer, |tx| {
            work(async move { Ok(store.begin(tx, &NewStep::new(key.clone(), DECIDED)).await.map(|_| ())?) })
        })
        .await
    }

    /// The event's end and the timer's next occurrence in one transaction.
    async fn succeed(&self, row: &EventRow) -> Result<Ticked, Halt> {
        let next = self.next(self.now().await?);
        match self.end(row, EventEnd::Succeed, next).await {
            Ok(()) => {
                self.trace("timer_event.succeeded", next);
                Ok(Ticked::Succeeded { next })
            }
            Err(Halt::Busy) => Ok(Ticked::Busy),
            Err(Halt::Overtaken) => Ok(self.overtaken()),
            Err(halt) => Err(halt),
        }
    }

    /// The event's end, the alarm and the timer's next occurrence in one transaction; the hook in another one.
    async fn time_out(&self, row: &EventRow, now: Timestamp) -> Result<Ticked, Halt> {
        let next = self.next(now);
        match self.end(row, EventEnd::TimeOut, next).await {
            Ok(()) => {}
            Err(Halt::Busy) => return Ok(Ticked::Busy),
            Err(Halt::Overtaken) => return Ok(self.overtaken()),
            Err(Halt::Store(error)) if !error.is_about_the_store() => {
                // An alarm that cannot be raised makes this tick a dead letter. The timer goes on without it.
                self.move_on(row, next).await?;
                return Err(error.into());
            }
            Err(halt) => return Err(halt),
        }
        tracing::error!(scheme = %self.tick.scheme, occurrence = %self.tick.occurrence, "timer_event.timed_out");
        Ok(Ticked::TimedOut { next, hook: self.hook(row).await? })
    }

    async fn end(&self, row: &EventRow, end: EventEnd, next: Option<Timestamp>) -> Result<(), Halt> {
        let store = self.store;
        in_transaction(store, self.timer, |tx| {
            work(async move {
                if self.scheme.row_lock != RowLock::None {
                    row.guard(store, tx, self.scheme.row_lock).await?;
                }
                row.end(store, tx, end).await?;
                if end == EventEnd::TimeOut {
                    self.scheme.alarm.raise(store, tx, &self.timed_out(tx, row).await?).await?;
                }
                self.enqueue(tx, next.filter(|_| !row.record.moved_on)).await
            })
        })
        .await
    }

    /// Moves the timer of an event on without ending it, unless it has been moved on.
    async fn move_on(&self, row: &EventRow, next: Option<Timestamp>) -> Result<(), Halt> {
        if row.record.moved_on {
            return Ok(());
        }
        let store = self.store;
        let moved = in_transaction(store, self.timer, |tx| {
            work(async move {
                row.move_on(store, tx).await?;
                self.enqueue(tx, next).await
            })
        });
        match moved.await {
            Ok(()) => self.trace("timer_event.moved_on", next),
            Err(Halt::Overtaken) => {}
            Err(halt) => return Err(halt),
        }
        Ok(())
    }

    /// The remaining work for an event that is over: a timer that was not moved on with its end, and a timeout's hook.
    async fn complete(&self, row: &EventRow, now: Timestamp) -> Result<Ticked, Halt> {
        self.move_on(row, self.next(now)).await?;
        if row.status == EventStatus::Success && row.record.is_of_another(self.queue) {
            let decisions =
                in_transaction(self.store, self.timer, |tx| work(self.unfinished(tx, row))).await?;
            if !decisions.is_empty() {
                return Ok(self.foreign(decisions));
            }
        }
        let hook = match row.status {
            EventStatus::Timeout => self.hook(row).await?,
            EventStatus::Init | EventStatus::Success => None,
        };
        Ok(Ticked::Complete { status: row.status, hook })
    }

    /// The hook and its record in one transaction; answers why it has not succeeded.
    async fn hook(&self, row: &EventRow) -> Result<Option<Reason>, Halt> {
        let Some(hook) = &self.scheme.hook else { return Ok(None) };
        let (store, key) = (self.store, &row.hook()?);
        let written = &StepWrite::of(key);
        let done = effect_of_step(store, self.timer, written, |tx| {
            work(async move {
                match written.begin(store, tx, &NewStep::new(key.clone(), DECIDED)).await? {
                    Begun::New(_) => Ok(hook(tx, &self.timed_out(tx, row).await?).await?),
                    Begun::Found(found) => Ok(whole(key, &found)?),
                }
            })
        });
        match done.await {
            Err(Halt::Failed(why)) => {
                tracing::warn!(scheme = %self.tick.scheme, occurrence = %self.tick.occurrence, "timer_event.hook_failed");
                Ok(Some(why))
            }
            done => done.map(|()| None),
        }
    }

    /// The decisions of the scheme that have no record.
    async fn unfinished(&self, tx: &S::Tx, row: &EventRow) -> Result<Vec<DecisionName>, Halt> {
        let mut unfinished = Vec::new();
        for decision in &self.scheme.decisions {
            let found = self.store.find(tx, &row.decision(&decision.name)?).await?;
            if found.is_none_or(|record| record.is_broken()) {
                unfinished.push(decision.name.clone());
            }
        }
        Ok(unfinished)
    }

    async fn timed_out(&self, tx: &S::Tx, row: &EventRow) -> Result<TimedOut, Halt> {
        Ok(TimedOut {
            scheme: self.tick.scheme.clone(),
            occurrence: self.tick.occurrence,
            event: self.tick.event_id(),
            deadline: self.scheme.deadline,
            unfinished: self.unfinished(tx, row).await?,
        })
    }

    /// Moves the timer on past an occurrence that is not to be run.
    async fn pass_over(&self, now: Timestamp) -> Result<(), Halt> {
        let next = self.next(now);
        in_transaction(self.store, self.timer, |tx| work(async move { self.enqueue(tx, next).await }))
            .await?;
        self.trace("timer_event.stale", next);
        Ok(())
    }

    /// The next occurrence after the event's own and after `now`, so that missed occurrences are left out.
    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        self.scheme.schedule.next_after(now.max(self.tick.occurrence))
    }

    async fn enqueue(&self, tx: &S::Tx, next: Option<Timestamp>) -> Result<(), Halt> {
        if let Some(occurrence) = next {
            let tick = Tick { scheme: self.tick.scheme.clone(), occurrence };
            enqueue_ticks(self.store, tx, self.queue, &[tick]).await?;
        }
        Ok(())
    }

    fn failed(&self, decisions: Vec<(DecisionName, Reason)>) -> Ticked {
        let names: Vec<_> = decisions.iter().map(|(name, _)| name.to_string()).collect();
        tracing::warn!(
            scheme = %self.tick.scheme, occurrence = %self.tick.occurrence, decisions = names.join(", "), "timer_event.failed"
        );
        Ticked::Failed { decisions }
    }

    fn foreign(&self, decisions: Vec<DecisionName>) -> Ticked {
        let names: Vec<_> = decisions.iter().map(DecisionName::to_string).collect();
        tracing::error!(
            scheme = %self.tick.scheme, occurrence = %self.tick.occurrence, decisions = names.join(", "), "timer_event.foreign"
        );
        Ticked::Foreign { decisions }
    }

    fn overtaken(&self) -> Ticked {
        tracing::warn!(scheme = %self.tick.scheme, occurrence = %self.tick.occurrence, "timer_event.overtaken");
        Ticked::Overtaken
    }

    fn trace(&self, what: &'static str, next: Option<Timestamp>) {
        let next = next.map(|next| next.to_string());
        tracing::info!(scheme = %self.tick.scheme, occurrence = %self.tick.occurrence, next, "{what}");
    }
}

/// The state of a decision's record: it exists because the decision has succeeded.
const DECIDED: u8 = 1;
