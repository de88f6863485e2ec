use std::{sync::Arc, time::Duration};

use claimstream::{Relay, RelayConfig};
use claimstream_domain::RetryPolicy;
use claimstream_steps::saga::{
    Saga, SagaConfig, SagaError, SagaId, SagaOrderKind, SagaOutcome, SagaRun, SagaState, StepFailure,
};
use futures::{channel::oneshot, future::BoxFuture};
use serde::{Deserialize, Serialize};

use super::handler::id;
use crate::{
    db::{FaultyDb, FaultyTx},
    journal::{End, Hold, Journal},
    relays::{Relays, config},
    running::Noted,
    sim::{Process, Sim},
    store::FaultyStore,
    timer::ProcessTimer,
    weather::Mishap,
};

/// Moves an amount from one account to another, over two databases.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Transfer {
    amount: i64,
    fee: i64,
}

/// What is in the accounts at first.
const OPENING: i64 = 100;

/// Transfers between accounts of two databases that do not suffice for all, run by several processes, some called off by order.
pub(super) async fn run(sim: Sim) {
    let journal = Journal::new(&sim, u32::MAX, Hold::Exclusive);
    let home = FaultyDb::new(FaultyStore::new(&sim, &journal));
    let far = FaultyDb::new(FaultyStore::new(&sim, &journal));
    home.open_account("payer", OPENING);
    far.open_account("fees", 40);
    let count = 1 + sim.below(3);
    let asked: Vec<_> =
        (1..=count).map(|n| (n, Transfer { amount: 20 + 10 * sim.below(4) as i64, fee: 20 })).collect();
    let queue = saga(&home, &far, Process::SCRIPT).queue();
    for &(n, transfer) in &asked {
        let (home, far) = (home.clone(), far.clone());
        sim.spawn(Process::SCRIPT, async move { ask(home, far, n, transfer).await });
    }
    let (there, here) = (far.clone(), home.clone());
    let start = Arc::new(move |process, stop: oneshot::Receiver<()>| {
        let (home, far) = (here.clone(), there.clone());
        Box::pin(async move {
            let (sim, journal) = (home.sim.clone(), home.outbox.journal.clone());
            let handler = saga(&home, &far, process);
            let config = RelayConfig { retry: handler.config().pipeline_retry(), ..config(&sim) };
            let relay = Relay::new(Arc::new(home.outbox.clone()), ProcessTimer::of(&sim, process), config);
            let pipeline =
                relay.pipeline(handler.queue(), Noted { handler, journal, process }).expect("a pipeline");
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
    check(&sim, &home, &far, &asked).await;
    let dead = journal.ended(&queue, End::Dead);
    sim.require(dead == 0, || format!("{dead} messages of sagas are dead"));
}

/// Asks for a saga from a process that may die at it; it is asked for again, or not, and perhaps called off.
async fn ask(home: FaultyDb, far: FaultyDb, n: u64, transfer: Transfer) {
    let sim = home.sim.clone();
    sim.sleep(sim.time_below(Duration::from_secs(20))).await;
    for _ in 0..20 {
        let process = sim.new_process();
        let saga = saga(&home, &far, process);
        let (begun, mut ended) = oneshot::channel();
        sim.spawn(process, async move {
            let started = saga.start(SagaId::new(id(n).uuid()), "anna", transfer).await;
            let _ = begun.send(started.map(|_| ()));
        });
        if sim.chance(sim.weather().crash) {
            sim.count(Mishap::Crash);
            sim.kill_after(process, 1 + sim.below(20) as u32);
        }
        sim.sleep(Duration::from_secs(20)).await;
        let answer = ended.try_recv();
        sim.kill(process);
        match answer {
            Ok(Some(Err(SagaError::Store(_)))) | Ok(None) | Err(_) => {}
            Ok(Some(Ok(()))) => break,
            Ok(Some(Err(error))) => sim.fail(format!("saga {n}: {error}")),
        }
        if sim.chance(300) {
            break;
        }
    }
    if sim.chance(sim.weather().operator) {
        sim.count(Mishap::Operator);
        let order = saga(&home, &far, Process::SCRIPT);
        let order = order.order(SagaOrderKind::RollBack, SagaId::new(id(n).uuid()), "anna", transfer);
        let order = order.expect("a message");
        sim.trace(|| format!("saga {n} is to be called off"));
        let enqueued = home.outbox.store.enqueue_now(std::slice::from_ref(&order)).await.expect("an enqueue");
        if enqueued == [claimstream::Enqueued::New] {
            home.outbox.journal.enqueued(&order);
        }
    }
    home.note("asked");
}

/// Every saga has ended by itself, whole or undone, and the accounts hold what the whole ones say.
async fn check(sim: &Sim, home: &FaultyDb, far: &FaultyDb, asked: &[(u64, Transfer)]) {
    let (mut paid, mut fees, mut failed) = (0, 0, 0);
    let saga = saga(home, far, Process::SCRIPT);
    for report in saga.mine("anna", None, 100).await.expect("an answer") {
        let has_ended = report.state.is_some_and(SagaState::is_over);
        sim.require(has_ended, || format!("a saga was left at {:?}", report.state));
    }
    for (n, transfer) in asked {
        match saga.proceed(SagaId::new(id(*n).uuid())).await {
            Ok(SagaOutcome::Finish) => (paid, fees) = (paid + transfer.amount, fees + transfer.fee),
            Ok(SagaOutcome::Fail { .. }) => failed += 1,
            Ok(SagaOutcome::TooLate { state: SagaState::Finish }) | Err(SagaError::Unknown(_)) => {}
            other => sim.fail(format!("saga {n} has not ended: {other:?}")),
        }
    }
    let holds = |db: &FaultyDb, name: &str, expected: i64| {
        let found = db.balance(name);
        sim.require(found == expected, || format!("{name} holds {found} and not {expected}"));
    };
    holds(home, "payer", OPENING - paid);
    holds(far, "fees", 40 - fees);
    holds(far, "payee", paid);
    holds(home, "called off", failed);
}

fn saga(home: &FaultyDb, far: &FaultyDb, process: Process) -> Saga<Transfer, FaultyDb> {
    let at = |db: &FaultyDb| {
        let db = db.clone();
        move |_: &Transfer| db.clone()
    };
    let retry =
        RetryPolicy { base: Duration::from_secs(1), cap: Duration::from_secs(8), ..RetryPolicy::default() };
    let config = SagaConfig { check_after: Duration::from_secs(15), retry, ..SagaConfig::default() };
    let timer = Arc::new(ProcessTimer::coarse(&home.sim, process));
    let list = Saga::list("transfer", home.clone(), timer).on_call_off(telling(home));
    let list = list.at(at(home)).step(
        "debit",
        booking(home, "payer", |t| -t.amount),
        booking(home, "payer", |t| t.amount),
    );
    let list =
        list.at(at(far)).step("fee", booking(far, "fees", |t| -t.fee), booking(far, "fees", |t| t.fee));
    let tail = list.pivot().at(at(far)).step("credit", booking(far, "payee", |t| t.amount));
    tail.build(config).expect("a saga")
}

/// A step that books an amount, after a while, or fails for now.
fn booking(
    db: &FaultyDb,
    account: &'static str,
    amount: fn(&Transfer) -> i64,
) -> impl for<'a> Fn(&'a FaultyTx, &'a SagaRun<Transfer>) -> BoxFuture<'a, Result<(), StepFailure>> + use<> {
    let db = db.clone();
    move |tx, run| {
        let db = db.clone();
        Box::pin(async move {
            let sim = &db.sim;
            if sim.chance(sim.weather().handler / 2) {
                sim.count(Mishap::Handler);
                if sim.chance(500) {
                    return Err(StepFailure::transient("a scripted failure"));
                }
                sim.sleep(sim.time_below(Duration::from_secs(12))).await;
            }
            match db.book(tx, account, amount(run.input())) {
                true => Ok(()),
                false => Err(StepFailure::business("the account holds too little")),
            }
        })
    }
}

/// Counts the sagas that are called off.
fn telling(
    home: &FaultyDb,
) -> impl for<'a> Fn(
    &'a FaultyTx,
    &'a SagaRun<Transfer>,
    &'a claimstream_domain::Reason,
) -> BoxFuture<'a, Result<(), StepFailure>>
+ use<> {
    let home = home.clone();
    move |tx, _, _| {
        home.book(tx, "called off", 1);
        Box::pin(async { Ok(()) })
    }
}
