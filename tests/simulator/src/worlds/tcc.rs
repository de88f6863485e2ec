use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream::{Relay, RelayConfig};
use claimstream_domain::RetryPolicy;
use claimstream_ports::tcc::{Participant, ParticipantError};
use claimstream_steps::tcc::{
    Branch, BranchCall, Coordinator, CoordinatorConfig, GlobalId, GlobalState, GlobalTransaction,
    LocalParticipant, Resource, ResourceError,
};
use futures::{channel::oneshot, future::BoxFuture};
use serde_json::json;

use crate::{
    db::{FaultyDb, FaultyTx},
    journal::{End, Hold, Journal},
    relays::{Relays, config},
    running::Noted,
    sabotage::Sabotage,
    sim::{Process, Sim},
    store::FaultyStore,
    timer::ProcessTimer,
    weather::Mishap,
};

/// How much there is of what is reserved.
const PIECES: i64 = 4;

/// Global transactions of two branches over two databases, for a resource that does not suffice for all.
pub(super) async fn run(sim: Sim) {
    let journal = Journal::new(&sim, u32::MAX, Hold::Exclusive);
    let home = FaultyDb::new(FaultyStore::new(&sim, &journal));
    let far = FaultyDb::new(FaultyStore::new(&sim, &journal));
    for db in [&home, &far] {
        db.open_account("available", PIECES);
    }
    let count = 1 + sim.below(3);
    for n in 1..=count {
        let (home, far) = (home.clone(), far.clone());
        sim.spawn(Process::SCRIPT, async move { ask(home, far, n).await });
    }
    let queue = CoordinatorConfig::default().queue;
    let (there, here) = (far.clone(), home.clone());
    let start = Arc::new(move |process, stop: oneshot::Receiver<()>| {
        let (home, far) = (here.clone(), there.clone());
        Box::pin(async move {
            let (sim, journal) = (home.sim.clone(), home.outbox.journal.clone());
            let handler = coordinator(&home, &far, process);
            let (queue, retry) = (handler.config().queue.clone(), handler.config().retry.clone());
            let config = RelayConfig { retry, ..config(&sim) };
            let relay = Relay::new(Arc::new(home.outbox.clone()), ProcessTimer::of(&sim, process), config);
            let pipeline = relay.pipeline(queue, Noted { handler, journal, process }).expect("a pipeline");
            let report = pipeline
                .run_until(async move {
                    let _ = stop.await;
                })
                .await;
            sim.require(report.is_ok(), || "settings that do not work".into());
        }) as BoxFuture<'static, ()>
    });
    let is_done = || home.balance("asked") == count as i64 && journal.all_ended(&queue);
    Relays::new(&sim).run(start, is_done).await;
    // Calls that are on their way arrive.
    sim.sleep(Duration::from_secs(120)).await;
    check(&sim, &home, &far, count).await;
    let dead = journal.ended(&queue, End::Dead);
    sim.require(dead == 0, || format!("{dead} messages of transactions are dead"));
}

fn global(n: u64) -> GlobalTransaction {
    let gid = GlobalId::new(&format!("order-{n}")).expect("an id");
    let branch = |name: &str| Branch::new(name, json!({ "pieces": 1 + n as i64 % 2 })).expect("a branch");
    GlobalTransaction::new(gid, [branch("stock"), branch("coupon")]).expect("two branches")
}

/// Runs a transaction from a process that may die at it; it is run again, or not.
async fn ask(home: FaultyDb, far: FaultyDb, n: u64) {
    let sim = home.sim.clone();
    sim.sleep(sim.time_below(Duration::from_secs(20))).await;
    for _ in 0..20 {
        let process = sim.new_process();
        let coordinator = coordinator(&home, &far, process);
        let (begun, mut ended) = oneshot::channel();
        sim.spawn(process, async move {
            let _ = begun.send(coordinator.run(&global(n)).await.is_ok());
        });
        if sim.chance(sim.weather().crash) {
            sim.count(Mishap::Crash);
            sim.kill_after(process, 1 + sim.below(20) as u32);
        }
        sim.sleep(Duration::from_secs(20)).await;
        let is_begun = ended.try_recv() == Ok(Some(true));
        sim.kill(process);
        if is_begun || sim.chance(300) {
            break;
        }
    }
    home.note("asked");
}

/// The branches of each transaction have ended alike, and nothing is left reserved.
async fn check(sim: &Sim, home: &FaultyDb, far: &FaultyDb, count: u64) {
    let coordinator = coordinator(home, far, Process::SCRIPT);
    let mut sold = 0;
    for n in 1..=count {
        match coordinator.state(&global(n).gid).await {
            Ok(Some(GlobalState::Confirmed)) => sold += 1 + n as i64 % 2,
            Ok(None | Some(GlobalState::Cancelled)) => {}
            other => sim.fail(format!("transaction {n} has not ended: {other:?}")),
        }
    }
    for (db, name) in [(home, "stock"), (far, "coupon")] {
        let found = [db.balance("available"), db.balance("reserved"), db.balance("sold")];
        let expected = [PIECES - sold, 0, sold];
        sim.require(found == expected, || {
            format!("{name}: available, reserved and sold are {found:?} and not {expected:?}")
        });
    }
}

fn coordinator(home: &FaultyDb, far: &FaultyDb, process: Process) -> Coordinator<FaultyDb> {
    let timer = || ProcessTimer::coarse(&home.sim, process);
    let retry = RetryPolicy {
        base: Duration::from_secs(1),
        cap: Duration::from_secs(8),
        max_attempts: u32::MAX,
        ..RetryPolicy::default()
    };
    let config =
        CoordinatorConfig { deadline: Duration::from_secs(15), retry, ..CoordinatorConfig::default() };
    let participant = |db: &FaultyDb| {
        let local =
            LocalParticipant::new(Arc::new(db.clone()), Arc::new(timer()), Pieces(db.clone()), &config);
        let local = local.expect("a participant");
        FaultyParticipant { sim: db.sim.clone(), local: Arc::new(local) }
    };
    let coordinator = Coordinator::new(Arc::new(home.clone()), Arc::new(timer()), config.clone());
    let coordinator = coordinator.expect("settings");
    let coordinator = coordinator.with("stock", participant(home)).expect("a participant");
    coordinator.with("coupon", participant(far)).expect("a participant")
}

/// Pieces of something, in three accounts of a database.
struct Pieces(FaultyDb);

impl Pieces {
    fn shift(&self, tx: &FaultyTx, from: &str, to: &str, call: &BranchCall) -> Result<(), ResourceError> {
        let pieces = call.payload["pieces"].as_i64().unwrap_or_default();
        if !self.0.book(tx, from, -pieces) {
            return Err(ResourceError::refused(format_args!("fewer than {pieces} are {from}")));
        }
        self.0.book(tx, to, pieces);
        Ok(())
    }
}

#[async_trait]
impl Resource<FaultyTx> for Pieces {
    async fn reserve(&self, tx: &FaultyTx, call: &BranchCall) -> Result<(), ResourceError> {
        self.shift(tx, "available", "reserved", call)
    }

    async fn confirm(&self, tx: &FaultyTx, call: &BranchCall) -> Result<(), ResourceError> {
        self.shift(tx, "reserved", "sold", call)
    }

    async fn release(&self, tx: &FaultyTx, call: &BranchCall) -> Result<(), ResourceError> {
        self.shift(tx, "reserved", "available", call)
    }
}

/// A participant over a network that fails; a call may arrive once more, much later.
struct FaultyParticipant {
    sim: Sim,
    local: Arc<LocalParticipant<FaultyDb, Pieces>>,
}

#[async_trait]
impl Participant for FaultyParticipant {
    async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError> {
        let (sim, weather) = (&self.sim, self.sim.weather());
        if sim.chance(weather.detached) {
            sim.count(Mishap::Detached);
            let (wire, local, call) = (sim.clone(), Arc::clone(&self.local), call.clone());
            sim.spawn(Process::WIRE, async move {
                wire.sleep(wire.time_below(Duration::from_secs(60))).await;
                let answer = local.carry_out(&call).await;
                wire.trace(|| {
                    format!("{:?} of {} arrives late: {answer:?}", call.key.operation, call.key.branch)
                });
            });
            if sim.chance(500) {
                return Err(ParticipantError::failed("no answer"));
            }
        }
        if sim.chance(weather.handler / 2) {
            sim.count(Mishap::Handler);
            return match sim.has(Sabotage::GuessesParticipants) {
                true => Ok(()),
                false => Err(ParticipantError::failed("a scripted failure")),
            };
        }
        let answer = self.local.carry_out(call).await;
        sim.trace(|| format!("{:?} of {}: {answer:?}", call.key.operation, call.key.branch));
        if sim.chance(weather.lost) {
            sim.count(Mishap::Lost);
            return Err(ParticipantError::failed("the answer is lost"));
        }
        answer
    }
}
