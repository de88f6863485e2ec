use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use claimstream_domain::Timestamp;
use claimstream_steps::timer_event::{DecisionError, EventInfo, EventStatus, RowLock};
use futures::future::BoxFuture;
use uuid::Uuid;

use super::{
    check::{event, is_decided},
    fail,
    plan::Plan,
};
use crate::{db::FaultyDb, weather::Mishap};

/// The other side of the remote decision, which knows each call by its key.
pub(super) struct Remote {
    db: FaultyDb,
    row_lock: RowLock,
    /// How often it has done what was asked for, by occurrence.
    done: Mutex<BTreeMap<Timestamp, u32>>,
}

impl Remote {
    pub(super) fn new(db: &FaultyDb, row_lock: RowLock) -> Self {
        Self { db: db.clone(), row_lock, done: Mutex::default() }
    }

    /// How often it has done what was asked for at an occurrence.
    pub(super) fn done(&self, occurrence: Timestamp) -> u32 {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.get(&occurrence).copied().unwrap_or_default()
    }

    pub(super) fn call(
        self: &Arc<Self>,
    ) -> impl for<'a> Fn(&'a EventInfo, Uuid) -> BoxFuture<'a, Result<(), DecisionError>> + use<> {
        let this = Arc::clone(self);
        move |event, key| {
            let this = Arc::clone(&this);
            Box::pin(async move {
                this.begins(event, key);
                fail(&this.db.sim).await?;
                let mut done = this.done.lock().unwrap_or_else(PoisonError::into_inner);
                *done.entry(event.occurrence).or_default() += 1;
                drop(done);
                if this.db.sim.chance(this.db.sim.weather().lost) {
                    this.db.sim.count(Mishap::Lost);
                    return Err(DecisionError::failed("the answer is lost"));
                }
                Ok(())
            })
        }
    }

    /// A call is about an event that has begun, under its key. While its row is locked, the event is open and not decided.
    fn begins(&self, info: &EventInfo, key: Uuid) {
        let (sim, occurrence) = (&self.db.sim, info.occurrence);
        sim.trace(|| format!("the remote decision of {occurrence} is called"));
        let expected = Plan::tick(occurrence).event_id().decision_key(&Plan::decision(Plan::REMOTE));
        sim.require(key == expected, || format!("a call of {occurrence} has a key of its own"));
        let Some((status, _)) = event(&self.db, occurrence) else {
            return sim.fail(format!("{occurrence} is decided and has not begun"));
        };
        if self.row_lock == RowLock::None {
            return;
        }
        sim.require(status == EventStatus::Init, || format!("{occurrence} is decided after its end"));
        let is_decided = is_decided(&self.db, occurrence, Plan::REMOTE);
        sim.require(!is_decided, || format!("{occurrence} is decided again after its record"));
    }
}
