use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{
    MessageId, Timestamp,
    step::{Step, StepKey, StepResult},
    timer_event::EventRecord,
};
use claimstream_ports::{ReadMessages, step::StepLedger};
use claimstream_steps::timer_event::{EventStatus, RowLock, Schedule};
use futures::FutureExt;
use serde_json::Value;

use super::{Timers, account, plan::Plan};
use crate::{db::FaultyDb, journal::End};

/// How long an occurrence may take from its moment to its end where nothing goes wrong.
const QUIET_RUN: i64 = 12_000_000;

impl Timers {
    /// Until when every event has ended, once the last two occurrences have succeeded undisturbed.
    pub(super) fn settled_until(&self) -> Option<Timestamp> {
        if self.plan.new.is_some() {
            self.old_is_gone()?;
        }
        let now = self.db.sim.store_now().as_micros();
        let settled = Timestamp::from_micros(now - QUIET_RUN).expect("a moment");
        let newest = occurrences(self.plan.newest(), before(settled, Duration::from_secs(80)), settled);
        let has_succeeded = |occurrence: &Timestamp| {
            event(&self.db, *occurrence).is_some_and(|(status, _)| status == EventStatus::Success)
        };
        let is_settled = newest.iter().rev().take(2).all(has_succeeded)
            && self.all(settled).iter().all(|occurrence| self.has_ended(*occurrence));
        is_settled.then_some(settled)
    }

    /// Whether nothing is left to do for an event, if there is one.
    fn has_ended(&self, occurrence: Timestamp) -> bool {
        let journal = &self.db.outbox.journal;
        let ids = [Plan::tick(occurrence).message_id(), Plan::tick(occurrence).deadline_id()];
        let is_over = event(&self.db, occurrence).is_none_or(|(status, _)| status != EventStatus::Init);
        is_over && ids.iter().all(|id| !journal.knows(*id) || journal.end(*id).is_some())
    }

    /// Every occurrence of every version until then.
    fn all(&self, until: Timestamp) -> BTreeSet<Timestamp> {
        let schedules = [&self.plan.old, self.plan.newest()];
        schedules.into_iter().flat_map(|schedule| occurrences(schedule, self.began, until)).collect()
    }

    /// Each occurrence until then is one event that has ended once, with everything that belongs to its end.
    pub(super) fn check(&self, settled: Timestamp) {
        for occurrence in self.all(settled) {
            match event(&self.db, occurrence) {
                None => self.check_unbegun(occurrence),
                Some((status, record)) => self.check_event(occurrence, status, record),
            }
        }
    }

    /// An occurrence whose message was enqueued is handled, unless a version of the program has another schedule.
    fn check_unbegun(&self, occurrence: Timestamp) {
        let is_known = self.db.outbox.journal.knows(Plan::tick(occurrence).message_id());
        let is_lost = is_known && self.plan.new.is_none();
        self.db.sim.require(!is_lost, || format!("the occurrence {occurrence} is lost"));
        let is_decided = Plan::DECISIONS.iter().any(|name| self.count(name, occurrence) > 0);
        self.db.sim.require(!is_decided, || format!("{occurrence} is decided and has not begun"));
    }

    fn check_event(&self, occurrence: Timestamp, status: EventStatus, record: EventRecord) {
        let (sim, journal, tick) = (&self.db.sim, &self.db.outbox.journal, Plan::tick(occurrence));
        sim.trace(|| format!("the event of {occurrence} is {status:?}, {record:?}"));
        sim.require(record.moved_on, || format!("the timer has not moved on from {occurrence}"));
        let is_late = self.old_is_gone().is_some_and(|gone| record.began > gone);
        sim.require(!is_late || self.plan.newest().has(occurrence), || {
            format!("{occurrence} of the old schedule has begun when no process had it any more")
        });
        for name in [Plan::FIRST, Plan::LAST] {
            let (had, is_decided) = (self.count(name, occurrence), is_decided(&self.db, occurrence, name));
            sim.require(had == i64::from(is_decided), || {
                format!("the effect of {name} of {occurrence} was had {had} times, its record: {is_decided}")
            });
        }
        let called = self.remote.done(occurrence);
        let is_decided_there = is_decided(&self.db, occurrence, Plan::REMOTE);
        sim.require(called > 0 || !is_decided_there, || {
            format!("{occurrence} is recorded and was never carried out")
        });
        let is_repeated = called > 1 && sim.weather_at_first().counts_only_failures();
        sim.require(!is_repeated, || format!("{occurrence} was carried out {called} times without a reason"));
        let alarm = MessageId::new(tick.event_id().alarm_id());
        let (is_alarmed, hooked) = (journal.knows(alarm), self.count(Plan::HOOK, occurrence));
        let is_timeout = status == EventStatus::Timeout;
        sim.require(is_alarmed == is_timeout, || {
            format!("{occurrence} is {status:?}, and its alarm: {is_alarmed}")
        });
        let is_given_up = [tick.message_id(), tick.deadline_id()]
            .iter()
            .any(|message| journal.end(*message) == Some(End::Dead));
        let expected = i64::from(is_timeout);
        sim.require(hooked == expected || hooked == 0 && is_given_up, || {
            format!("the hook of {occurrence} succeeded {hooked} times, {status:?}")
        });
        let open = Plan::DECISIONS.iter().filter(|name| !is_decided(&self.db, occurrence, name));
        let open: BTreeSet<&str> = open.copied().collect();
        if is_timeout {
            self.check_alarm(occurrence, alarm, &open);
        } else {
            sim.require(open.is_empty(), || format!("{occurrence} has succeeded without {open:?}"));
        }
    }

    /// The alarm names what was not decided; without a row lock, what had passed its check may be decided after it.
    fn check_alarm(&self, occurrence: Timestamp, alarm: MessageId, open: &BTreeSet<&str>) {
        let carried = self.db.outbox.store.carried(alarm).now_or_never().and_then(Result::ok).flatten();
        let json = carried.and_then(|it| serde_json::from_slice::<Value>(it.payload.bytes()).ok());
        let names = json.as_ref().and_then(|json| json["unfinished"].as_array());
        let named: BTreeSet<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        let fits = match self.plan.row_lock {
            RowLock::None => named.is_superset(open),
            RowLock::Wait | RowLock::NoWait => named == *open,
        };
        self.db.sim.require(fits, || {
            format!("the alarm of {occurrence} names {named:?}, and {open:?} are not decided")
        });
    }

    fn count(&self, name: &str, occurrence: Timestamp) -> i64 {
        self.db.balance(&account(name, occurrence))
    }
}

/// An event as it stands, if it has begun.
pub(super) fn event(db: &FaultyDb, occurrence: Timestamp) -> Option<(EventStatus, EventRecord)> {
    let step = step(db, occurrence, "")?;
    let result = step.result.as_ref().map(StepResult::as_bytes);
    Some((EventStatus::from_code(step.state)?, EventRecord::read(result, &Plan::tick(occurrence))))
}

/// Whether a decision of an event is recorded.
pub(super) fn is_decided(db: &FaultyDb, occurrence: Timestamp, name: &str) -> bool {
    step(db, occurrence, &format!("decision:{name}")).is_some()
}

fn step(db: &FaultyDb, occurrence: Timestamp, step: &str) -> Option<Step> {
    let run = Plan::tick(occurrence).unique_code();
    let key = StepKey::new(&format!("timer:{}", Plan::scheme()), &run, step).expect("a key");
    let (store, tx) = (&db.outbox.store, db.outbox.store.begin());
    StepLedger::find(store, &tx, &key).now_or_never()?.expect("an answer")
}

/// The occurrences of a schedule after one moment and until another.
fn occurrences(schedule: &Schedule, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let next = |last: &Timestamp| schedule.next_after(*last);
    std::iter::successors(schedule.next_after(after), next).take_while(|moment| *moment <= until).collect()
}

fn before(moment: Timestamp, by: Duration) -> Timestamp {
    Timestamp::from_micros(moment.as_micros() - by.as_micros() as i64).expect("a moment")
}
