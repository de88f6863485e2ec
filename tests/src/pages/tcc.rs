//! The code of docs/tcc.md; all but the pipeline is run.

use std::sync::Arc;

use async_trait::async_trait;
use claimstream::{StoreError, Timer, Transactions, in_transaction, work};
use claimstream_sea_orm::{SeaOrmOutbox, store_error};
use claimstream_steps::tcc::{
    BranchCall, BranchRefusal, Coordinator, Participant, ParticipantError, Resource, ResourceError, TccError,
};
use claimstream_tokio::TokioTimer;
use sea_orm::{ConnectionTrait, DatabaseTransaction};

use super::Failure;
use crate::backend::SeaOrmBackend;

pub(super) async fn runs() {
    let backend = SeaOrmBackend::sqlite("auto");
    let url = backend.fresh_database().await.expect("a database");
    let outbox = Arc::new(backend.open(&url, None).await.expect("open"));
    let timer: Arc<dyn Timer> = Arc::new(TokioTimer::new());
    let table = "CREATE TABLE stock (available INT, reserved INT); INSERT INTO stock VALUES (10, 0)";
    let tx = outbox.begin_tx().await.expect("begin");
    tx.execute_unprepared(table).await.expect("a table");
    outbox.commit_tx(tx).await.expect("commit");
    let refused = branch(outbox.clone(), timer.clone()).await.expect_err("a cancel after the confirm");
    let refused = refused.downcast::<TccError<StoreError>>().expect("an error of the branch");
    assert!(matches!(*refused, TccError::Refused(BranchRefusal::CancelAfterConfirm)), "{refused}");
    let coordinator = branches(outbox, timer, Generous).await.expect("a decision");
    assert_eq!(coordinator.config().queue.as_str(), "tcc");
}

async fn branch(outbox: Arc<SeaOrmOutbox>, timer: Arc<dyn Timer>) -> Result<(), Failure> {
    use claimstream_steps::tcc::{BranchName, GlobalId, Tcc};

    let tcc = Tcc::new(outbox.clone());
    let (gid, stock) = (GlobalId::new("order-7")?, BranchName::new("stock")?);

    in_transaction(&*outbox, &*timer, |tx| work(tcc.try_(tx, &gid, &stock, |tx| reserve(tx, 3)))).await?;
    in_transaction(&*outbox, &*timer, |tx| work(tcc.confirm(tx, &gid, &stock, |tx| sell(tx, 3)))).await?;
    in_transaction(&*outbox, &*timer, |tx| work(tcc.cancel(tx, &gid, &stock, |tx| release(tx, 3)))).await?;
    Ok(())
}

async fn branches(
    outbox: Arc<SeaOrmOutbox>,
    timer: Arc<dyn Timer>,
    coupon_service: impl Participant + 'static,
) -> Result<Arc<Coordinator<SeaOrmOutbox>>, Failure> {
    use claimstream_steps::tcc::{
        Branch, Coordinator, CoordinatorConfig, Decision, GlobalId, GlobalTransaction, LocalParticipant,
    };
    use serde_json::json;

    let coordinator = Coordinator::new(outbox.clone(), timer.clone(), CoordinatorConfig::default())?
        .with("stock", LocalParticipant::new(outbox.clone(), timer.clone(), Stock))?
        .with("coupon", coupon_service)?;
    let coordinator = Arc::new(coordinator);

    let branches =
        [Branch::new("stock", json!({"pieces": 3}))?, Branch::new("coupon", json!({"code": "A1"}))?];
    let order = GlobalTransaction::new(GlobalId::new("order-8")?, branches)?;
    match coordinator.run(&order).await? {
        Decision::Confirm => println!("sold; stock and coupon are being confirmed"),
        Decision::Cancel(why) => println!("not sold: {why:?}; what was reserved is being given back"),
    }
    Ok(coordinator)
}

#[allow(dead_code, reason = "it is here to be compiled")]
async fn carry_out(
    outbox: Arc<SeaOrmOutbox>,
    timer: TokioTimer,
    coordinator: Arc<Coordinator<SeaOrmOutbox>>,
) -> Result<(), Failure> {
    use claimstream::{Relay, RelayConfig};
    use claimstream_tokio::shutdown_signal;

    let retry = coordinator.config().retry.clone();
    let relay = Relay::new(outbox, timer, RelayConfig { retry, ..RelayConfig::default() });
    relay.shared_pipeline("tcc", coordinator)?.run_until(shutdown_signal()?).await?;
    Ok(())
}

async fn reserve(tx: &DatabaseTransaction, pieces: i64) -> Result<(), StoreError> {
    write(tx, format!("UPDATE stock SET available = available - {pieces}, reserved = reserved + {pieces}"))
        .await
}

async fn sell(tx: &DatabaseTransaction, pieces: i64) -> Result<(), StoreError> {
    write(tx, format!("UPDATE stock SET reserved = reserved - {pieces}")).await
}

async fn release(tx: &DatabaseTransaction, pieces: i64) -> Result<(), StoreError> {
    write(tx, format!("UPDATE stock SET reserved = reserved - {pieces}, available = available + {pieces}"))
        .await
}

async fn write(tx: &DatabaseTransaction, sql: String) -> Result<(), StoreError> {
    tx.execute_unprepared(&sql).await.map(|_| ()).map_err(|e| store_error("stock", e))
}

struct Stock;

#[async_trait]
impl Resource<DatabaseTransaction> for Stock {
    async fn reserve(&self, tx: &DatabaseTransaction, _: &BranchCall) -> Result<(), ResourceError> {
        Ok(reserve(tx, 3).await?)
    }

    async fn confirm(&self, tx: &DatabaseTransaction, _: &BranchCall) -> Result<(), ResourceError> {
        Ok(sell(tx, 3).await?)
    }

    async fn release(&self, tx: &DatabaseTransaction, _: &BranchCall) -> Result<(), ResourceError> {
        Ok(release(tx, 3).await?)
    }
}

/// A service that has coupons for everybody.
struct Generous;

#[async_trait]
impl Participant for Generous {
    async fn carry_out(&self, _: &BranchCall) -> Result<(), ParticipantError> {
        Ok(())
    }
}
