//! Money moves between accounts in two databases, while a worker is killed every second; none is lost, and none is made.
//!
//! `cargo run --release -p claimstream-kills --bin transfer`
//!
//! The flow is [`transfers`]: a debit, the pivot, a credit. A transfer's home is its payer's database.
#![forbid(unsafe_code)]

#[path = "../bank/mod.rs"]
mod bank;

use std::{sync::Arc, time::Duration};

use claimstream_domain::Invalid;
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_steps::saga::{Saga, SagaConfig, SagaRun, StepFailure};
use claimstream_tokio::TokioTimer;
use futures::future::BoxFuture;
use sea_orm::DatabaseTransaction;
use serde::{Deserialize, Serialize};

use self::bank::{Business, Failure, account, books::Steps, play};

/// Who pays whom how much.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Transfer {
    from: u32,
    to: u32,
    amount: i64,
}

/// The whole flow.
fn transfers(
    home: SeaOrmOutbox,
    databases: [SeaOrmOutbox; 2],
) -> Result<Saga<Transfer, SeaOrmOutbox>, Invalid> {
    let (from, to) = (databases.clone(), databases);
    Saga::list("transfer", home, Arc::new(TokioTimer::new()))
        .at(move |transfer: &Transfer| from[database_of(transfer.from)].clone())
        .step("debit", debit, refund)
        .pivot()
        .at(move |transfer| to[database_of(transfer.to)].clone())
        .step("credit", credit)
        .build(SagaConfig { check_after: Duration::from_secs(5), ..SagaConfig::default() })
}

type Done<'a> = BoxFuture<'a, Result<(), StepFailure>>;

fn debit<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    let transfer = run.input();
    Box::pin(account::book(tx, run.id(), "debit", ("money", transfer.from), -transfer.amount))
}

fn refund<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    let transfer = run.input();
    Box::pin(account::book(tx, run.id(), "refund", ("money", transfer.from), transfer.amount))
}

fn credit<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    let transfer = run.input();
    Box::pin(account::book(tx, run.id(), "credit", ("money", transfer.to), transfer.amount))
}

const USERS: u32 = 20;

fn database_of(user: u32) -> usize {
    user as usize % 2
}

struct Transfers;

impl Business for Transfers {
    type Input = Transfer;

    const NAME: &'static str = "transfer";

    const DATABASES: usize = 2;
    const KINDS: &'static [&'static str] = &["money"];
    const STEPS: Steps = &[("debit", Some("refund")), ("credit", None)];

    fn homes(_: &[SeaOrmOutbox]) -> Vec<usize> {
        vec![0, 1]
    }

    fn saga(home: usize, databases: &[SeaOrmOutbox]) -> Result<Saga<Transfer, SeaOrmOutbox>, Invalid> {
        transfers(databases[home].clone(), [databases[0].clone(), databases[1].clone()])
    }

    async fn open_accounts(databases: &[SeaOrmOutbox]) -> Result<(), Failure> {
        for user in 0..USERS {
            account::open(&databases[database_of(user)], "money", user, 10_000).await?;
        }
        Ok(())
    }

    /// One account pays another; one transfer of fifty is larger than any balance.
    fn input(number: usize) -> (usize, Transfer) {
        let number = number as u32;
        let (from, step) = (number * 7 % USERS, 1 + number * 13 % (USERS - 1));
        let amount = if number % 50 == 49 { 1_000_000 } else { 1 + i64::from(number * 31 % 1_000) };
        (database_of(from), Transfer { from, to: (from + step) % USERS, amount })
    }

    async fn complaint(_: &[SeaOrmOutbox], failed: usize) -> Result<Option<String>, Failure> {
        Ok((failed == 0).then(|| "no transfer failed, though some were too large".into()))
    }
}

#[tokio::main]
async fn main() {
    play::<Transfers>().await;
}
