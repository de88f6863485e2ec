use std::{sync::Arc, time::Duration};

use claimstream::{Jitter, RetryPolicy};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, Strategy, StrategyChoice};
use claimstream_steps::{
    saga::{Saga, SagaConfig, SagaRun, StepFailure},
    tcc::{Coordinator, CoordinatorConfig, LocalParticipant},
};
use claimstream_tokio::TokioTimer;
use futures::future::BoxFuture;
use sea_orm::DatabaseTransaction;
use serde::{Deserialize, Serialize};

use super::{
    AWAY, HOME,
    books::{book, execute},
    shelf::Shelf,
};
use crate::work::Failure;

/// One process at one place: its two databases, and all that is done in them.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) home: SeaOrmOutbox,
    pub(super) away: SeaOrmOutbox,
}

/// An amount moves from an account at home to one of the other database, unless that refuses it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Payment {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) is_refused: bool,
}

/// The branches of a global transaction.
pub(super) const BRANCHES: [&str; 2] = ["stock", "seat"];
const PRICE: i64 = 7;
/// Sagas and global transactions that no process drives are looked at again this much later, or twice that.
const LOOKED_AT_AFTER: Duration = Duration::from_secs(3);

impl Member {
    /// A node may see the databases a little later than the one that has made them.
    pub(super) async fn open(place: &str) -> Result<Self, Failure> {
        let home = open_soon(&in_database(place, HOME)).await?;
        Ok(Self { home, away: open_soon(&in_database(place, AWAY)).await? })
    }

    /// The sagas, whose home is the one database.
    pub(super) fn payments(&self) -> Result<Saga<Payment, SeaOrmOutbox>, Failure> {
        let (home, hold, give) = (self.home.clone(), self.away.clone(), self.away.clone());
        let config = SagaConfig {
            check_after: LOOKED_AT_AFTER,
            // A test has many more faults than a day has.
            alarm_after: u32::MAX,
            retry: retry(),
            ..SagaConfig::default()
        };
        let payments = Saga::list("payment", self.home.clone(), timer())
            .at(move |_: &Payment| home.clone())
            .step("take", take, put_back)
            .at(move |_| hold.clone())
            .step("hold", hold_place, free_place)
            .pivot()
            .at(move |_| give.clone())
            .step("give", give_amount)
            .build(config)?;
        Ok(payments)
    }

    /// The global transactions, with a branch in each database.
    pub(super) fn orders(&self) -> Result<Coordinator<SeaOrmOutbox>, Failure> {
        let config = CoordinatorConfig {
            deadline: 2 * LOOKED_AT_AFTER,
            retry: retry(),
            ..CoordinatorConfig::default()
        };
        let mut orders = Coordinator::new(Arc::new(self.home.clone()), timer(), config.clone())?;
        for (branch, store) in BRANCHES.into_iter().zip([&self.home, &self.away]) {
            let participant =
                LocalParticipant::new(Arc::new(store.clone()), timer(), Shelf(branch), &config)?;
            orders = orders.with(branch, participant)?;
        }
        Ok(orders)
    }
}

type Done<'a> = BoxFuture<'a, Result<(), StepFailure>>;

fn take<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Payment>) -> Done<'a> {
    Box::pin(pay(tx, run, "take", run.input().from, -PRICE))
}

fn put_back<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Payment>) -> Done<'a> {
    Box::pin(pay(tx, run, "put back", run.input().from, PRICE))
}

fn give_amount<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Payment>) -> Done<'a> {
    Box::pin(pay(tx, run, "give", run.input().to, PRICE))
}

fn hold_place<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Payment>) -> Done<'a> {
    Box::pin(async move {
        if run.input().is_refused {
            return Err(StepFailure::business("it is refused"));
        }
        Ok(book(tx, run.id(), "hold").await?)
    })
}

fn free_place<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Payment>) -> Done<'a> {
    Box::pin(async move { Ok(book(tx, run.id(), "free").await?) })
}

async fn pay(
    tx: &DatabaseTransaction,
    run: &SagaRun<Payment>,
    what: &str,
    account: u32,
    amount: i64,
) -> Result<(), StepFailure> {
    execute(tx, &format!("UPDATE flow_account SET amount = amount + {amount} WHERE id = {account}")).await?;
    Ok(book(tx, run.id(), what).await?)
}

pub(super) fn timer() -> Arc<TokioTimer> {
    Arc::new(TokioTimer::new())
}

/// The same URL with another database.
pub(super) fn in_database(url: &str, name: &str) -> String {
    url.replace("/claimstream?", &format!("/{name}?"))
}

fn retry() -> RetryPolicy {
    let (base, cap) = (Duration::from_millis(50), Duration::from_millis(500));
    RetryPolicy { base, cap, max_attempts: u32::MAX, jitter: Jitter::Full }
}

async fn open_soon(url: &str) -> Result<SeaOrmOutbox, Failure> {
    const TRIES: u32 = 50;
    let options = OpenOptions {
        strategy: StrategyChoice::Exactly(Strategy::SkipLocked),
        max_connections: 8,
        relay_connections: 4,
        acquire_timeout: Duration::from_secs(2),
        ..OpenOptions::default()
    };
    let mut tried = 0;
    loop {
        match SeaOrmOutbox::open(url, options.clone()).await {
            Err(_) if tried < TRIES => tokio::time::sleep(Duration::from_millis(100)).await,
            opened => return Ok(opened?),
        }
        tried += 1;
    }
}
