//! A transfer between two databases: both steps are taken, or the first one is undone.
//!
//! `cargo run -p claimstream-examples --features steps --example saga`
#![forbid(unsafe_code)]

use std::{path::Path, sync::Arc};

use claimstream_domain::Invalid;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::saga::{Saga, SagaConfig, SagaId, SagaOutcome, SagaRun, StepFailure};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Serialize, Deserialize)]
struct Transfer {
    amount: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let folder = tempfile::tempdir()?;
    let transfers = transfers(bank(folder.path(), "payer").await?, bank(folder.path(), "payee").await?)?;
    for amount in [700, 700] {
        match transfers.start(SagaId::new(Uuid::now_v7()), "anna", Transfer { amount }).await? {
            SagaOutcome::Finish => println!("{amount}: paid"),
            SagaOutcome::Fail { reason } => println!("{amount}: not paid, {reason}"),
            under_way => println!("{amount}: a relay would complete it: {under_way:?}"),
        }
    }
    Ok(())
}

/// The whole flow. A debit may be refused, so it comes before the pivot; a credit may not.
fn transfers(payer: SeaOrmOutbox, payee: SeaOrmOutbox) -> Result<Saga<Transfer, SeaOrmOutbox>, Invalid> {
    let home = payer.clone();
    Saga::list("transfer", home, Arc::new(TokioTimer::new()))
        .at(move |_: &Transfer| payer.clone())
        .step("debit", debit, refund)
        .pivot()
        .at(move |_| payee.clone())
        .step("credit", credit)
        .build(SagaConfig::default())
}

type Done<'a> = BoxFuture<'a, Result<(), StepFailure>>;

fn debit<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    book(tx, -run.input().amount).boxed()
}

fn refund<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    book(tx, run.input().amount).boxed()
}

fn credit<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    book(tx, run.input().amount).boxed()
}

async fn book(tx: &DatabaseTransaction, amount: i64) -> Result<(), StepFailure> {
    let sql = format!("UPDATE account SET amount = amount + {amount} WHERE amount + {amount} >= 0");
    match tx.execute_unprepared(&sql).await.map_err(|e| store_error("book", e))?.rows_affected() {
        0 => Err(StepFailure::business("balance too small")),
        _ => Ok(()),
    }
}

/// A database with one account of 1000.
async fn bank(folder: &Path, name: &str) -> Result<SeaOrmOutbox, Box<dyn std::error::Error + Send + Sync>> {
    let url = format!("sqlite://{}", folder.join(format!("{name}.db")).display());
    let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await?;
    let table = "CREATE TABLE account (amount BIGINT); INSERT INTO account VALUES (1000)";
    outbox.connection().execute_unprepared(table).await?;
    Ok(outbox)
}
