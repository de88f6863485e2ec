mod check;
mod plan;
mod remote;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream::{Relay, RelayConfig};
use claimstream_domain::{QueueName, Timestamp};
use claimstream_ports::Timer;
use claimstream_steps::timer_event::{
    Alarm, DecisionError, EventInfo, EventScheme, Schedule, TimedOut, TimerEvents,
};
use futures::{
    FutureExt,
    channel::oneshot,
    future::{BoxFuture, Either, Shared, select},
};

use self::{plan::Plan, remote::Remote};
use crate::{
    Scripted,
    db::{FaultyDb, FaultyTx},
    journal::{Hold, Journal},
    relays::{Relays, config},
    running::Noted,
    sim::{Process, Sim},
    store::{FaultyStore, LEASE},
    timer::ProcessTimer,
    weather::Mishap,
};

/// A timer whose events make two local decisions and a remote one, and perhaps a new version of the program with another schedule.
pub(super) async fn run(sim: Sim) {
    let plan = Plan::draw(&sim);
    let journal = Journal::new(&sim, Plan::MAX_ATTEMPTS, Hold::Exclusive);
    let db = FaultyDb::new(FaultyStore::new(&sim, &journal));
    let remote = Remote::new(&db, plan.row_lock);
    let (plan, remote, began) = (Arc::new(plan), Arc::new(remote), sim.store_now());
    let timers = Timers { db, plan, remote, old: Arc::default(), began };
    let this = timers.clone();
    let start = Arc::new(move |process, stop: oneshot::Receiver<()>| {
        let this = this.clone();
        Box::pin(async move { this.serve(process, stop).await }) as BoxFuture<'static, ()>
    });
    let settled = Mutex::new(None);
    let is_done = || {
        let mut settled = settled.lock().unwrap_or_else(PoisonError::into_inner);
        *settled = timers.settled_until();
        settled.is_some()
    };
    Relays::new(&sim).run(start, is_done).await;
    let settled = *settled.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(settled) = settled {
        timers.check(settled);
    }
}

/// What the processes of a schedule share.
#[derive(Clone)]
struct Timers {
    db: FaultyDb,
    plan: Arc<Plan>,
    remote: Arc<Remote>,
    old: Arc<Mutex<OldVersion>>,
    /// When the schedule began, by the store's clock.
    began: Timestamp,
}

/// Which processes run the old version.
#[derive(Default)]
struct OldVersion {
    processes: u32,
    /// When the last one ended, by the store's clock.
    gone: Option<Timestamp>,
}

/// A process of the old version, until it is dropped.
struct Old(Timers);

impl Drop for Old {
    fn drop(&mut self) {
        let now = self.0.db.sim.store_now();
        let mut old = self.0.old.lock().unwrap_or_else(PoisonError::into_inner);
        old.processes -= 1;
        old.gone = Some(now).filter(|_| old.processes == 0);
    }
}

fn queue() -> QueueName {
    QueueName::new("timers").expect("a name")
}

impl Timers {
    /// Runs the version of the moment, and the new one from a while after its release.
    async fn serve(self, process: Process, stop: oneshot::Receiver<()>) {
        let (sim, stop) = (self.db.sim.clone(), stop.map(|_| ()).boxed().shared());
        if let Some((release, _)) = &self.plan.new
            && !self.is_released()
        {
            let old = self.old_version();
            let change = release.saturating_sub(sim.timer().now()) + sim.time_below(Duration::from_secs(20));
            let timer = sim.timer().clone();
            let changed = async move { timer.sleep(change).await };
            let until = select(stop.clone(), changed.boxed()).map(|_| ()).boxed().shared();
            self.run_version(process, &self.plan.old, until).await;
            drop(old);
            if stop.peek().is_some() {
                return;
            }
            sim.trace(|| format!("{process:?} has the new version"));
        }
        self.run_version(process, self.plan.newest(), stop).await;
    }

    fn is_released(&self) -> bool {
        let now = self.db.sim.timer().now();
        self.plan.new.as_ref().is_none_or(|(release, _)| now >= *release)
    }

    fn old_version(&self) -> Old {
        self.old.lock().unwrap_or_else(PoisonError::into_inner).processes += 1;
        Old(self.clone())
    }

    /// Since when no process runs the old version; `None` while there is one, or no other.
    fn old_is_gone(&self) -> Option<Timestamp> {
        let old = self.old.lock().unwrap_or_else(PoisonError::into_inner);
        let is_gone = self.plan.new.is_some() && self.is_released() && old.processes == 0;
        is_gone.then(|| old.gone.unwrap_or(self.began))
    }

    async fn run_version(
        &self,
        process: Process,
        schedule: &Schedule,
        until: Shared<BoxFuture<'static, ()>>,
    ) {
        let (sim, journal) = (&self.db.sim, self.db.outbox.journal.clone());
        let handler = self.events(process, schedule.clone());
        loop {
            match select(Box::pin(handler.start()), until.clone()).await {
                Either::Left((Ok(()), _)) => break,
                Either::Left((Err(error), _)) => sim.trace(|| format!("{process:?} cannot start: {error}")),
                Either::Right(_) => return,
            }
            sim.sleep(Duration::from_secs(1)).await;
        }
        let config = RelayConfig { retry: handler.pipeline_retry(), ..config(sim) };
        let relay = Relay::new(Arc::new(self.db.outbox.clone()), ProcessTimer::of(sim, process), config);
        let pipeline = relay.pipeline(queue(), Noted { handler, journal, process }).expect("a pipeline");
        let report = pipeline.run_until(until).await;
        sim.require(report.is_ok(), || "settings that do not work".into());
    }

    fn events(&self, process: Process, schedule: Schedule) -> TimerEvents<FaultyDb> {
        let alarm = Alarm::to_queue(QueueName::new("alarms").expect("a name"));
        let scheme = EventScheme::new(Plan::scheme(), schedule, alarm)
            .deadline(Plan::DEADLINE)
            .retry_every(Plan::RETRY_EVERY)
            .on_failure(self.plan.policy)
            .row_lock(self.plan.row_lock)
            .decision(Plan::decision(Plan::FIRST), self.booking(Plan::FIRST))
            .remote_decision(Plan::decision(Plan::REMOTE), self.remote.call())
            .decision(Plan::decision(Plan::LAST), self.booking(Plan::LAST))
            .on_timeout(self.hook());
        let timer = ProcessTimer::coarse(&self.db.sim, process);
        let events = TimerEvents::new(Arc::new(self.db.clone()), timer, queue());
        events.with(scheme).expect("a scheme")
    }

    /// A decision that counts its event in the transaction, or fails in one way or another.
    fn booking(
        &self,
        name: &'static str,
    ) -> impl for<'a> Fn(&'a FaultyTx, &'a EventInfo) -> BoxFuture<'a, Result<(), DecisionError>> + use<>
    {
        let db = self.db.clone();
        move |tx, event| {
            let db = db.clone();
            Box::pin(async move {
                db.book(tx, &account(name, event.occurrence), 1);
                fail(&db.sim).await
            })
        }
    }

    fn hook(
        &self,
    ) -> impl for<'a> Fn(&'a FaultyTx, &'a TimedOut) -> BoxFuture<'a, Result<(), DecisionError>> + use<> {
        let db = self.db.clone();
        move |tx, timed_out| {
            let db = db.clone();
            Box::pin(async move {
                db.book(tx, &account(Plan::HOOK, timed_out.occurrence), 1);
                fail(&db.sim).await
            })
        }
    }
}

fn account(name: &str, occurrence: Timestamp) -> String {
    format!("{name} of {occurrence}")
}

/// Takes a while, or fails, panics or hangs.
async fn fail(sim: &Sim) -> Result<(), DecisionError> {
    if sim.chance(300) {
        sim.sleep(sim.time_below(LEASE / 4)).await;
    }
    if sim.chance(sim.weather().handler / 2) {
        sim.count(Mishap::Handler);
        match sim.below(5) {
            0..2 => return Err(DecisionError::failed("a scripted failure")),
            2 => std::panic::panic_any(Scripted),
            3 => std::future::pending().await,
            _ => sim.sleep(sim.time_below(LEASE * 2)).await,
        }
    }
    Ok(())
}
