use std::{path::Path, sync::Arc, time::Duration};

use claimstream::{Jitter, Pacing, Relay, RelayConfig, RetryPolicy};
use claimstream_browser_tests::Failure;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::saga::{Saga, SagaConfig, SagaId, SagaRun, StepFailure};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{ConnectionTrait, DatabaseTransaction, Statement};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use uuid::Uuid;

/// A transfer from the shop to a bank whose table is away, and a relay of the shop's own that carries it out.
pub(super) struct Transfers {
    bank: SeaOrmOutbox,
    relay: JoinHandle<()>,
}

#[derive(Serialize, Deserialize)]
struct Transfer {
    amount: i64,
}

impl Transfers {
    /// Begins one that cannot end.
    pub(super) async fn begin(shop: &Path, bank: &Path) -> Result<Self, Failure> {
        let (home, bank) = (open(shop).await?, open(bank).await?);
        let saga = saga(&home, &bank)?;
        saga.start(SagaId::new(Uuid::now_v7()), "ann", Transfer { amount: 700 }).await?;
        let config = RelayConfig {
            retry: saga.config().pipeline_retry(),
            pacing: Pacing { idle_max: Duration::from_millis(200), ..Pacing::default() },
            ..RelayConfig::default()
        };
        let pipeline = Relay::new(Arc::new(home), TokioTimer::new(), config).pipeline(saga.queue(), saga)?;
        let relay = tokio::spawn(async move {
            let _ = pipeline.run_until(std::future::pending::<()>()).await;
        });
        Ok(Self { bank, relay })
    }

    /// The bank has its table again.
    pub(super) async fn mend(&self) -> Result<(), Failure> {
        let table = "CREATE TABLE account (amount BIGINT); INSERT INTO account VALUES (0)";
        self.bank.connection().execute_unprepared(table).await?;
        Ok(())
    }

    /// Whether the bank has the money, once.
    pub(super) async fn is_paid(&self) -> Result<bool, Failure> {
        let db = self.bank.connection();
        let amount = Statement::from_string(db.get_database_backend(), "SELECT amount FROM account");
        let row = db.query_one_raw(amount).await?.ok_or("there is no account")?;
        Ok(row.try_get_by_index::<i64>(0)? == 700)
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

/// An alarm is raised with the first delivery, and the next try would be tomorrow.
fn saga(home: &SeaOrmOutbox, bank: &SeaOrmOutbox) -> Result<Saga<Transfer, SeaOrmOutbox>, Failure> {
    let (shop, bank) = (home.clone(), bank.clone());
    let tomorrow = Duration::from_secs(86_400);
    let config = SagaConfig {
        check_after: Duration::from_secs(1),
        alarm_after: 1,
        retry: RetryPolicy { base: tomorrow, cap: tomorrow, jitter: Jitter::None, ..RetryPolicy::default() },
        ..SagaConfig::default()
    };
    let saga = Saga::list("transfer", home.clone(), Arc::new(TokioTimer::new()))
        .at(move |_: &Transfer| shop.clone())
        .step("order", nothing, nothing)
        .pivot()
        .at(move |_| bank.clone())
        .step("credit", credit)
        .build(config)?;
    Ok(saga)
}

type Done<'a> = BoxFuture<'a, Result<(), StepFailure>>;

fn nothing<'a>(_: &'a DatabaseTransaction, _: &'a SagaRun<Transfer>) -> Done<'a> {
    async { Ok(()) }.boxed()
}

fn credit<'a>(tx: &'a DatabaseTransaction, run: &'a SagaRun<Transfer>) -> Done<'a> {
    let sql = format!("UPDATE account SET amount = amount + {}", run.input().amount);
    async move {
        tx.execute_unprepared(&sql).await.map_err(|e| store_error("credit", e))?;
        Ok(())
    }
    .boxed()
}

async fn open(file: &Path) -> Result<SeaOrmOutbox, Failure> {
    Ok(SeaOrmOutbox::open(&format!("sqlite://{}", file.display()), OpenOptions::default()).await?)
}
