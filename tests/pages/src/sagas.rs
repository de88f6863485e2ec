//! The code of docs/sagas.md; all but the pipeline is run, on two databases.

use std::sync::Arc;

use claimstream::{Relay, RelayConfig};
use claimstream_domain::Invalid;
use claimstream_sea_orm::{SeaOrmOutbox, store_error};
use claimstream_steps::{
    StepResult,
    inbox::{Consumer, Inbox, StepError},
    saga::{Saga, SagaConfig, SagaId, SagaOutcome, SagaRun, StepFailure},
};
use claimstream_tokio::{TokioTimer, shutdown_signal};
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Failure;
use crate::backend::SeaOrmBackend;

pub(super) async fn runs() {
    use claimstream_steps::saga::SagaState;

    let backend = SeaOrmBackend::sqlite("auto");
    let databases = [bank(&backend).await, bank(&backend).await];
    let transfers = transfers(databases[0].clone(), databases.clone()).expect("a saga");
    transfer(&transfers, 700).await.expect("a transfer");
    transfer(&transfers, 700).await.expect("a transfer");
    let mine = mine(&transfers).await.expect("a list");
    assert_eq!(mine, [Some(SagaState::Fail), Some(SagaState::Finish)]);
    // Odd users have their account in the second database.
    assert_eq!((balance(&databases[1], 1).await, balance(&databases[0], 2).await), (300, 1_700));
    an_id_is_used_once_for_good(&transfers, &databases).await;
}

/// Also when the steps have been forgotten, as a sweep does after a month.
async fn an_id_is_used_once_for_good(transfers: &Saga<Transfer, SeaOrmOutbox>, databases: &[SeaOrmOutbox]) {
    use claimstream_steps::saga::SagaError;

    let finished = transfers.mine("anna", None, 20).await.expect("a list").pop().expect("a saga").id;
    for database in databases {
        let forget = "DELETE FROM claimstream_step";
        database.connection().execute_unprepared(forget).await.expect("an empty ledger");
    }
    let again = transfers.start(finished, "anna", Transfer { from: 1, to: 2, amount: 100 }).await;
    assert!(matches!(again, Err(SagaError::Forgotten(id)) if id == finished), "{again:?}");
    let gone_on = transfers.proceed(finished).await;
    assert!(matches!(gone_on, Err(SagaError::Forgotten(id)) if id == finished), "{gone_on:?}");
    assert_eq!((balance(&databases[1], 1).await, balance(&databases[0], 2).await), (300, 1_700));
}

/// A database in which everybody has an account with 1000.
async fn bank(backend: &SeaOrmBackend) -> SeaOrmOutbox {
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    let table = "CREATE TABLE account (id INT PRIMARY KEY, amount BIGINT); \
                 INSERT INTO account VALUES (1, 1000), (2, 1000)";
    outbox.connection().execute_unprepared(table).await.expect("a table");
    outbox
}

async fn balance(outbox: &SeaOrmOutbox, user: u32) -> i64 {
    let db = outbox.connection();
    let sql = format!("SELECT amount FROM account WHERE id = {user}");
    let found = db.query_one_raw(sea_orm::Statement::from_string(db.get_database_backend(), sql)).await;
    found.expect("an answer").expect("an account").try_get_by_index(0).expect("an amount")
}

#[derive(Serialize, Deserialize)]
struct Transfer {
    from: u32,
    to: u32,
    amount: i64,
}

fn transfers(home: SeaOrmOutbox, banks: [SeaOrmOutbox; 2]) -> Result<Saga<Transfer, SeaOrmOutbox>, Invalid> {
    let (from, to) = (banks.clone(), banks);
    Saga::list("transfer", home, Arc::new(TokioTimer::new()))
        .at(move |transfer: &Transfer| from[transfer.from as usize % 2].clone())
        .step("debit", debit, refund)
        .pivot()
        .at(move |transfer| to[transfer.to as usize % 2].clone())
        .step("credit", credit)
        .build(SagaConfig::default())
}

type Done<'a> = BoxFuture<'a, Result<(), StepFailure>>;

fn debit<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    book(tx, run.input().from, -run.input().amount).boxed()
}

fn refund<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    book(tx, run.input().from, run.input().amount).boxed()
}

fn credit<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    book(tx, run.input().to, run.input().amount).boxed()
}

async fn book(tx: &DatabaseTransaction, user: u32, amount: i64) -> Result<(), StepFailure> {
    let sql =
        format!("UPDATE account SET amount = amount + {amount} WHERE id = {user} AND amount + {amount} >= 0");
    match tx.execute_unprepared(&sql).await.map_err(|e| store_error("book", e))?.rows_affected() {
        0 if amount < 0 => Err(StepFailure::business("balance too small")),
        0 => Err(StepFailure::invariant(format_args!("there is no account {user}"))),
        _ => Ok(()),
    }
}

async fn transfer(transfers: &Saga<Transfer, SeaOrmOutbox>, amount: i64) -> Result<(), Failure> {
    let id = SagaId::new(Uuid::now_v7());
    match transfers.start(id, "anna", Transfer { from: 1, to: 2, amount }).await? {
        SagaOutcome::Finish => println!("paid"),
        SagaOutcome::Fail { reason } => println!("not paid, and nothing is left of it: {reason}"),
        under_way => println!("the outbox completes it: {under_way:?}"),
    }
    Ok(())
}

#[allow(dead_code, reason = "it is here to be compiled")]
async fn from_an_inbox(
    relay: &Relay,
    inbox: Inbox<SeaOrmOutbox>,
    transfers: Arc<Saga<Transfer, SeaOrmOutbox>>,
) -> Result<(), Failure> {
    let handler = inbox.handler(Consumer::new("payments")?, TokioTimer::new(), move |tx, claimed| {
        let transfers = transfers.clone();
        async move {
            let transfer =
                serde_json::from_slice(claimed.message.payload.bytes()).map_err(StepError::bury)?;
            transfers.submit(tx, SagaId::new(claimed.message.id.uuid()), "anna", transfer).await?;
            Ok(StepResult::default())
        }
        .boxed()
    });
    relay.pipeline("payments", handler)?.run_until(shutdown_signal()?).await?;
    Ok(())
}

#[allow(dead_code, reason = "it is here to be compiled")]
async fn carry_out(home: SeaOrmOutbox, transfers: Saga<Transfer, SeaOrmOutbox>) -> Result<(), Failure> {
    let retry = transfers.config().pipeline_retry();
    let config = RelayConfig { retry, ..RelayConfig::default() };
    let relay = Relay::new(Arc::new(home), TokioTimer::new(), config);
    relay.pipeline(transfers.queue(), transfers)?.run_until(shutdown_signal()?).await?;
    Ok(())
}

async fn mine(
    transfers: &Saga<Transfer, SeaOrmOutbox>,
) -> Result<Vec<Option<claimstream_steps::saga::SagaState>>, Failure> {
    let mine = transfers.mine("anna", None, 20).await?; // newest first
    for transfer in &mine {
        println!("{} {:?} {:?}", transfer.id, transfer.state, transfer.reason);
    }
    transfers.proceed(mine[0].id).await?; // the button "continue"
    Ok(mine.into_iter().map(|transfer| transfer.state).collect())
}
