//! Many payments at once, between few purses, under drawn mishaps: runners die at any point or go on much later, checks come
//! late and twice, databases are away for a while, and orders to roll back come when they like.
//!
//! Whatever happens: every payment is made whole or not at all, and the purses hold what the payments that were made say.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::Handler;
use claimstream_steps::saga::{Saga, SagaError, SagaId, SagaOrderKind, SagaState};
use claimstream_testbed::eventually;
use futures::future::{BoxFuture, join_all};
use tokio::task::JoinHandle;

use super::{
    bank::{Account, Bank, fresh_saga},
    breakable::Breakable,
    crash::Crash,
    database::Database,
    draw::{Draw, Ends},
    notice::is_notified,
    payment::{FAILED, FINISHED, NOTHING, Payment, Purse, rows, saga},
};
use crate::{Suite, fixture::Random, suite::STUCK};

const JIFEN: i64 = 100;
const YUE: i64 = 1_000;
/// Few, so that payments meet: the first has too few points, the second too small a balance.
const PAYERS: usize = 3;
const PAYEES: usize = 2;
const COURIERS: usize = 3;
/// No runner passes more points than that.
const POINTS: usize = 24;
/// Longer than the claim of a message lasts.
const LATE: Duration = Duration::from_secs(45);
/// Where a runner may stay for long: nothing is locked there.
const RESTS: [&str; 7] = [
    "after saga Init",
    "after jifen_out Done",
    "after yue_out Done",
    "undone yue_out Done",
    "after saga Committing",
    "after saga ToRollback",
    "after jifen_in Done",
];

/// Adds a few draws of a dozen and a half payments on one store.
pub(super) fn add_to<D: Database>(
    suite: &mut Suite,
    backend: &str,
    open: impl Fn() -> BoxFuture<'static, Bank<D>> + Send + 'static,
) {
    // Guard: a tombstone is written, and refuses the step, in any order of events |
    // app/steps/src/saga/local.rs: `undo` of an absent step writes nothing, or `forward` over `RolledBack`
    // has its effect, in memory
    // Guard: in memory, a step changes only from the state and version that were read |
    // adapters/memory/src/step_ledger.rs: no comparison
    let name =
        format!("{backend}::sagas::s4b_many_payments_under_drawn_mishaps_are_made_whole_or_not_at_all");
    let draws = Draw::some(backend);
    suite.add_async_test(&name, async move {
        for draw in draws {
            println!("payments: {draw:?}: {}", run(open().await, draw).await);
        }
    });
}

/// Runs a draw and answers how the payments ended; panics if one ended as it must not.
pub(super) async fn run<D: Database>(bank: Bank<D>, draw: Draw) -> Ends {
    let ran = tokio::time::timeout(STUCK, run_draw(bank, draw)).await;
    ran.unwrap_or_else(|_| panic!("stuck: {draw:?}"))
}

async fn run_draw<D: Database>(bank: Bank<D>, draw: Draw) -> Ends {
    let world = Arc::new(World::open(bank, draw).await);
    world.bank.catch_up().await;
    let couriers: Vec<_> = (0..COURIERS).map(|_| tokio::spawn(world.clone().carry())).collect();
    let outages = tokio::spawn(world.clone().break_databases());
    let runners = (0..draw.at_once).map(|n| tokio::spawn(world.clone().run(n)));
    let ran = join_all(runners.collect::<Vec<_>>()).await.into_iter();
    let resting = ran.filter_map(|ran| ran.expect("a runner")).collect();
    world.begun.store(true, Ordering::SeqCst);
    join_all(couriers).await.into_iter().for_each(|carried| carried.expect("a courier"));
    outages.await.expect("an end of all outages");
    world.clear_up(resting).await;
    world.check().await
}

/// A runner that stopped on its way and will go on.
type Resting = (Crash, JoinHandle<()>);

struct World<D> {
    bank: Bank<D>,
    payments: Vec<(SagaId, Payment)>,
    /// What each account holds before anything is paid.
    before: HashMap<String, i64>,
    lots: Mutex<Random>,
    mishaps: AtomicUsize,
    /// Every runner has ended, or rests.
    begun: AtomicBool,
}

impl<D: Database> World<D> {
    async fn open(bank: Bank<D>, draw: Draw) -> Self {
        let each = (draw.at_once / PAYERS) as i64;
        let mut before = HashMap::new();
        let (mut payers, mut payees) = (Vec::new(), Vec::new());
        for n in 0..PAYERS {
            let holds = |is_short: bool| if is_short { each / 2 } else { each + 1 };
            let amounts = (holds(n == 0) * JIFEN, holds(n == 1) * YUE);
            payers.push(open_purse(&bank, (1, 2), amounts, &mut before).await);
        }
        for _ in 0..PAYEES {
            payees.push(open_purse(&bank, (3, 4), (0, 0), &mut before).await);
        }
        let payment = |n: usize| Payment {
            from: payers[n % PAYERS].clone(),
            to: payees[n % PAYEES].clone(),
            jifen: JIFEN,
            yue: YUE,
        };
        let payments = (0..draw.at_once).map(|n| (fresh_saga(), payment(n))).collect();
        Self {
            bank,
            payments,
            before,
            lots: Mutex::new(Random(draw.seed)),
            mishaps: AtomicUsize::new(0),
            begun: AtomicBool::new(false),
        }
    }

    fn below(&self, end: usize) -> usize {
        self.lots.lock().unwrap_or_else(PoisonError::into_inner).below(end)
    }

    fn mishap(&self) {
        self.mishaps.fetch_add(1, Ordering::SeqCst);
    }

    fn saga(&self, crash: &Crash) -> Saga<Payment, Breakable<D>> {
        saga(&self.bank, crash)
    }

    /// Begins a payment; answers its runner if that rests on its way.
    async fn run(self: Arc<Self>, n: usize) -> Option<Resting> {
        let lot = self.below(100);
        if lot < 65 {
            self.mishap();
        }
        match lot {
            0..25 => {
                let crash = Crash::at(self.below(POINTS));
                crash.run(self.start(n, crash.clone())).await;
            }
            25..45 => return self.start_and_rest(n).await,
            45..55 => {
                futures::join!(self.start(n, Crash::never()), self.start(n, Crash::never()));
            }
            55..65 => {
                futures::join!(self.start(n, Crash::never()), self.order_back(n));
            }
            _ => self.start(n, Crash::never()).await,
        }
        None
    }

    /// Starts a saga, and again with its id while its home is away.
    async fn start(&self, n: usize, crash: Crash) {
        let (id, payment) = self.payments[n].clone();
        let saga = self.saga(&crash);
        eventually("the home is there", async || match saga.start(id, "anna", payment.clone()).await {
            Ok(_) => true,
            Err(SagaError::Store(_)) => false,
            Err(error) => panic!("payment {n}: {error}"),
        })
        .await
    }

    async fn start_and_rest(self: &Arc<Self>, n: usize) -> Option<Resting> {
        let crash = Crash::at_point(RESTS[self.below(RESTS.len())]);
        let (world, at) = (self.clone(), crash.clone());
        let mut runner = tokio::spawn(async move { world.start(n, at).await });
        tokio::select! {
            () = crash.stopped() => Some((crash, runner)),
            ended = &mut runner => {
                ended.expect("a runner");
                None
            }
        }
    }

    async fn order_back(&self, n: usize) {
        let (id, payment) = self.payments[n].clone();
        let order = self.saga(&Crash::never()).order(SagaOrderKind::RollBack, id, "anna", payment);
        self.bank.enqueue(order.expect("a message")).await;
    }

    /// Brings messages to the saga until every runner is done and nothing comes any more.
    async fn carry(self: Arc<Self>) {
        let queue = self.saga(&Crash::never()).queue();
        let mut idle = 0;
        while idle < 10 {
            let claimed = self.bank.claim_up_to(1 + self.below(4) as u32, &queue).await;
            idle = if claimed.is_empty() && self.begun.load(Ordering::SeqCst) { idle + 1 } else { 0 };
            for one in &claimed {
                self.bring(one).await;
            }
            self.bank.pass_time(Duration::from_secs(self.below(40) as u64)).await;
            tokio::task::yield_now().await;
        }
    }

    async fn bring(&self, one: &Claimed) {
        let lot = self.below(100);
        if lot < 50 {
            self.mishap();
        }
        let verdict = match lot {
            // Its process dies, or its answer is lost.
            0..20 => {
                let crash = Crash::at(self.below(POINTS));
                crash.run(self.handle(one, crash.clone())).await;
                return;
            }
            20..35 => futures::join!(self.handle(one, Crash::never()), self.handle(one, Crash::never())).1,
            35..50 => {
                let verdict = self.handle(one, Crash::never()).await;
                self.bank.pass_time(LATE).await;
                verdict
            }
            _ => self.handle(one, Crash::never()).await,
        };
        let retry = self.saga(&Crash::never()).config().pipeline_retry();
        self.bank.settle(one, &verdict, &retry).await;
    }

    async fn handle(&self, one: &Claimed, crash: Crash) -> Verdict {
        let verdict = self.saga(&crash).handle(one).await;
        assert!(!matches!(verdict, Verdict::Bury { .. }), "{one:?}: {verdict:?}");
        verdict
    }

    /// One database at a time is away for a while.
    async fn break_databases(self: Arc<Self>) {
        while !self.begun.load(Ordering::SeqCst) {
            let down = &self.bank.down[self.below(self.bank.down.len())];
            for away in [true, false] {
                down.store(away, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(self.below(15) as u64)).await;
            }
            self.mishap();
        }
    }

    /// Everything is there again: those that rested go on among the checks, and all messages are brought to their end.
    async fn clear_up(&self, resting: Vec<Resting>) {
        let saga = self.saga(&Crash::never());
        let going_on = join_all(resting.into_iter().map(|(crash, runner)| {
            crash.go_on();
            runner
        }));
        let (went_on, _) = futures::join!(going_on, self.bank.deliver(&saga));
        went_on.into_iter().for_each(|ran| ran.expect("a runner"));
        self.bank.settle_all(&saga).await;
    }

    async fn check(&self) -> Ends {
        self.bank.catch_up().await;
        let saga = self.saga(&Crash::never());
        let mut ends = Ends { mishaps: self.mishaps.load(Ordering::SeqCst), ..Ends::default() };
        let mut expected = self.before.clone();
        for (id, payment) in &self.payments {
            let rows = rows(&self.bank, &saga, *id).await;
            assert_eq!(is_notified(&self.bank, *id).await, rows.0 == Some(SagaState::Fail), "{id}: {rows:?}");
            match rows {
                FINISHED => {
                    ends.made += 1;
                    for (account, amount) in booked(payment) {
                        *expected.get_mut(&account.user).expect("an account") += amount;
                    }
                }
                FAILED => ends.called_off += 1,
                NOTHING => ends.never_begun += 1,
                rows => panic!("{id} is neither made nor called off: {rows:?}"),
            }
        }
        for (account, _) in self.payments.iter().flat_map(|(_, payment)| booked(payment)) {
            assert_eq!(self.bank.balance(account).await, expected[&account.user], "{account:?} after {ends}");
        }
        assert_eq!(self.bank.dead_letters(&saga.queue()).await, 0, "{ends}");
        ends
    }
}

/// Points in the one database and a balance in the other, which are noted.
async fn open_purse<D: Database>(
    bank: &Bank<D>,
    (points, money): (usize, usize),
    (jifen, yue): (i64, i64),
    before: &mut HashMap<String, i64>,
) -> Purse {
    let purse = Purse {
        jifen: bank.account(points, "jifen", jifen).await,
        yue: bank.account(money, "yue", yue).await,
    };
    before.insert(purse.jifen.user.clone(), jifen);
    before.insert(purse.yue.user.clone(), yue);
    purse
}

/// What a payment that is made changes.
fn booked(payment: &Payment) -> [(&Account, i64); 4] {
    let Payment { from, to, jifen, yue } = payment;
    [(&from.jifen, -jifen), (&from.yue, -yue), (&to.jifen, *jifen), (&to.yue, *yue)]
}
