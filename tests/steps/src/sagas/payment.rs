use std::sync::Arc;

use claimstream_domain::{
    Lease,
    saga::SagaStepState::{self, Done, RolledBack},
};
use claimstream_ports::DistributedLock;
use claimstream_steps::saga::{
    Saga, SagaConfig, SagaId, SagaList, SagaRun, SagaState, SagaTail, StepFailure,
};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::{
    bank::{Account, Bank, book, fresh_saga, timer},
    breakable::Breakable,
    crash::Crash,
    database::Database,
    notice::telling,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Payment {
    pub(super) from: Purse,
    pub(super) to: Purse,
    pub(super) jifen: i64,
    pub(super) yue: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Purse {
    pub(super) jifen: Account,
    pub(super) yue: Account,
}

/// The whole flow.
pub(super) fn saga<D: Database>(bank: &Bank<D>, crash: &Crash) -> Saga<Payment, Breakable<D>> {
    saga_as(bank, crash, SagaConfig::default())
}

pub(super) fn saga_as<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    config: SagaConfig,
) -> Saga<Payment, Breakable<D>> {
    flow(bank, crash, None).build(config).expect("a saga")
}

pub(super) fn flow<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    lock: Option<Arc<dyn DistributedLock>>,
) -> SagaTail<Payment, Breakable<D>> {
    let list = Saga::list(&bank.name("payment"), bank.seen_by(crash)[0].clone(), timer());
    let list = match lock {
        Some(lock) => list.locked_by(lock, Lease::default()),
        None => list,
    };
    list.on_call_off(telling(bank))
        .at(place(bank, crash, |p| &p.from.jifen))
        .step(
            "jifen_out",
            booking(bank, |p| (&p.from.jifen, -p.jifen)),
            booking(bank, |p| (&p.from.jifen, p.jifen)),
        )
        .at(place(bank, crash, |p| &p.from.yue))
        .step("yue_out", booking(bank, |p| (&p.from.yue, -p.yue)), booking(bank, |p| (&p.from.yue, p.yue)))
        .pivot()
        .at(place(bank, crash, |p| &p.to.jifen))
        .step("jifen_in", booking(bank, |p| (&p.to.jifen, p.jifen)))
        .at(place(bank, crash, |p| &p.to.yue))
        .step("yue_in", booking(bank, |p| (&p.to.yue, p.yue)))
}

/// The same without a pivot: what the payee has received is taken back as well.
pub(super) fn reversible<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    lock: Arc<dyn DistributedLock>,
) -> SagaList<Payment, Breakable<D>> {
    let list = Saga::list(&bank.name("payment"), bank.seen_by(crash)[0].clone(), timer());
    list.locked_by(lock, Lease::default())
        .on_call_off(telling(bank))
        .at(place(bank, crash, |p| &p.from.jifen))
        .step(
            "jifen_out",
            booking(bank, |p| (&p.from.jifen, -p.jifen)),
            booking(bank, |p| (&p.from.jifen, p.jifen)),
        )
        .at(place(bank, crash, |p| &p.from.yue))
        .step("yue_out", booking(bank, |p| (&p.from.yue, -p.yue)), booking(bank, |p| (&p.from.yue, p.yue)))
        .at(place(bank, crash, |p| &p.to.jifen))
        .step(
            "jifen_in",
            booking(bank, |p| (&p.to.jifen, p.jifen)),
            booking(bank, |p| (&p.to.jifen, -p.jifen)),
        )
        .at(place(bank, crash, |p| &p.to.yue))
        .step("yue_in", booking(bank, |p| (&p.to.yue, p.yue)), booking(bank, |p| (&p.to.yue, -p.yue)))
}

const STEPS: [(usize, &str); 4] = [(1, "jifen_out"), (2, "yue_out"), (3, "jifen_in"), (4, "yue_in")];

fn place<D: Database>(
    bank: &Bank<D>,
    crash: &Crash,
    of: fn(&Payment) -> &Account,
) -> impl Fn(&Payment) -> Breakable<D> + use<D> {
    let places = bank.seen_by(crash);
    move |payment| places[of(payment).database].clone()
}

fn booking<D: Database>(
    bank: &Bank<D>,
    what: fn(&Payment) -> (&Account, i64),
) -> impl for<'a> Fn(&'a D::Tx, &'a SagaRun<Payment>) -> BoxFuture<'a, Result<(), StepFailure>> + use<D> {
    let databases = bank.databases.clone();
    move |tx, run| {
        let (db, (account, amount)) = (databases.clone(), what(run.input()));
        Box::pin(async move { book(&db[account.database], tx, account, amount).await })
    }
}

pub(super) async fn payment<D: Database>(bank: &Bank<D>, jifen: i64, yue: i64) -> Payment {
    let from = Purse { jifen: bank.account(1, "jifen", jifen).await, yue: bank.account(2, "yue", yue).await };
    let to =
        Purse { jifen: bank.account(3, "jifen", 1_000).await, yue: bank.account(4, "yue", 10_000).await };
    Payment { from, to, jifen: 100, yue: 1_000 }
}

/// From JiFen, from YuE, to JiFen, to YuE.
pub(super) async fn balances<D: Database>(bank: &Bank<D>, payment: &Payment) -> [i64; 4] {
    let Payment { from, to, .. } = payment;
    [
        bank.balance(&from.jifen).await,
        bank.balance(&from.yue).await,
        bank.balance(&to.jifen).await,
        bank.balance(&to.yue).await,
    ]
}

pub(super) const PAID: [i64; 4] = [900, 9_000, 1_100, 11_000];

pub(super) const UNPAID: [i64; 4] = [1_000, 10_000, 1_000, 10_000];

/// The payer has a balance of 500.
pub(super) const SHORT: [i64; 4] = [1_000, 500, 1_000, 10_000];

pub(super) async fn rows<D: Database>(
    bank: &Bank<D>,
    saga: &Saga<Payment, Breakable<D>>,
    id: SagaId,
) -> Rows {
    let mut rows = [None; 4];
    for ((database, step), row) in STEPS.iter().zip(&mut rows) {
        *row = bank.step_state(&saga.queue(), id, *database, step).await;
    }
    (bank.state(&saga.queue(), id).await, rows)
}

pub(super) type Rows = (Option<SagaState>, [Option<SagaStepState>; 4]);

pub(super) const FINISHED: Rows = (Some(SagaState::Finish), [Some(Done); 4]);

pub(super) const FAILED: Rows = (Some(SagaState::Fail), [Some(RolledBack); 4]);

pub(super) const NOTHING: Rows = (None, [None; 4]);

/// How a payment ends of which a runner stopped at a point.
pub(super) fn expected(point: &str, end: (Rows, [i64; 4]), start: [i64; 4]) -> (Rows, [i64; 4]) {
    match point {
        "inside saga Init" | "before saga Init" => (NOTHING, start),
        _ => end,
    }
}

/// The points of a payment that nothing disturbs.
pub(super) async fn points<D: Database>(bank: &Bank<D>, yue: i64) -> Vec<String> {
    let crash = Crash::never();
    let saga = saga(bank, &crash);
    saga.start(fresh_saga(), "anna", payment(bank, 1_000, yue).await).await.expect("an outcome");
    bank.settle_all(&saga).await;
    crash.trail()
}
