//! The code of docs/tcc.md; all but the pipeline is run.

use std::sync::Arc;

use async_trait::async_trait;
use claimstream::{Relay, RelayConfig, StoreError, in_transaction, work};
use claimstream_sea_orm::{SeaOrmOutbox, store_error};
use claimstream_steps::tcc::{
    Branch, BranchCall, BranchName, Coordinator, CoordinatorConfig, Decision, GlobalId, GlobalTransaction,
    LocalParticipant, Resource, ResourceError, Tcc,
};
use claimstream_tokio::{TokioTimer, shutdown_signal};
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use serde_json::json;

use claimstream::{Timer, Transactions};
use claimstream_steps::tcc::{Participant, ParticipantError};

use super::Failure;
use crate::backend::SeaOrmBackend;

async fn reserve(tx: &DatabaseTransaction, pieces: i64) -> Result<(), ResourceError> {
    let set = format!("available = available - {pieces}, reserved = reserved + {pieces}");
    match write(tx, format!("UPDATE stock SET {set} WHERE available >= {pieces}")).await? {
        0 => Err(ResourceError::refused("too few pieces are left")),
        _ => Ok(()),
    }
}

async fn sell(tx: &DatabaseTransaction, pieces: i64) -> Result<(), ResourceError> {
    write(tx, format!("UPDATE stock SET reserved = reserved - {pieces}")).await?;
    Ok(())
}

async fn release(tx: &DatabaseTransaction, pieces: i64) -> Result<(), ResourceError> {
    let set = format!("reserved = reserved - {pieces}, available = available + {pieces}");
    write(tx, format!("UPDATE stock SET {set}")).await?;
    Ok(())
}

async fn write(tx: &DatabaseTransaction, sql: String) -> Result<u64, StoreError> {
    Ok(tx.execute_unprepared(&sql).await.map_err(|e| store_error("stock", e))?.rows_affected())
}

pub(super) async fn runs() {
    use claimstream_steps::tcc::{BranchRefusal, TccError};

    let backend = SeaOrmBackend::sqlite("auto");
    let url = backend.database().await.expect("a database");
    let outbox = Arc::new(backend.open(&url, None).await.expect("open"));
    let timer: Arc<dyn Timer> = Arc::new(TokioTimer::new());
    let table = "CREATE TABLE stock (available INT, reserved INT); INSERT INTO stock VALUES (10, 0)";
    let tx = outbox.begin_tx().await.expect("begin");
    tx.execute_unprepared(table).await.expect("a table");
    outbox.commit_tx(tx).await.expect("commit");
    let refused = branch(outbox.clone(), timer.clone()).await.expect_err("a cancel after the confirm");
    let refused = refused.downcast::<TccError<ResourceError>>().expect("an error of the branch");
    assert!(matches!(*refused, TccError::Refused(BranchRefusal::CancelAfterConfirm)), "{refused}");
    let coordinator = branches(outbox, timer, Generous).await.expect("a decision");
    assert_eq!(coordinator.config().queue.as_str(), "tcc");
}

async fn branch(outbox: Arc<SeaOrmOutbox>, timer: Arc<dyn Timer>) -> Result<(), Failure> {
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
    let config = CoordinatorConfig::default();
    let coordinator = Coordinator::new(outbox.clone(), timer.clone(), config.clone())?
        .with("stock", LocalParticipant::new(outbox.clone(), timer.clone(), Stock, &config)?)?
        .with("coupon", coupon_service)?;
    let coordinator = Arc::new(coordinator);

    let branches =
        [Branch::new("stock", json!({"pieces": 3}))?, Branch::new("coupon", json!({"code": "A1"}))?];
    let order = GlobalTransaction::new(GlobalId::new("order-8")?, branches)?;
    match coordinator.run(&order).await? {
        Decision::Confirm => println!("sold; stock and coupon are being confirmed"),
        Decision::Cancel(why) => println!("not sold: {why:?}; what was reserved is being given back"),
        Decision::Undecided(why) => println!("not decided yet: {why}; it is tried again until the deadline"),
    }
    Ok(coordinator)
}

#[allow(dead_code, reason = "it is here to be compiled")]
async fn carry_out(
    outbox: Arc<SeaOrmOutbox>,
    timer: TokioTimer,
    coordinator: Arc<Coordinator<SeaOrmOutbox>>,
) -> Result<(), Failure> {
    let retry = coordinator.config().retry.clone();
    let relay = Relay::new(outbox, timer, RelayConfig { retry, ..RelayConfig::default() });
    relay.shared_pipeline("tcc", coordinator)?.run_until(shutdown_signal()?).await?;
    Ok(())
}

struct Stock;

#[async_trait]
impl Resource<DatabaseTransaction> for Stock {
    async fn reserve(&self, tx: &DatabaseTransaction, call: &BranchCall) -> Result<(), ResourceError> {
        reserve(tx, pieces(call)?).await
    }

    async fn confirm(&self, tx: &DatabaseTransaction, call: &BranchCall) -> Result<(), ResourceError> {
        sell(tx, pieces(call)?).await
    }

    async fn release(&self, tx: &DatabaseTransaction, call: &BranchCall) -> Result<(), ResourceError> {
        release(tx, pieces(call)?).await
    }
}

fn pieces(call: &BranchCall) -> Result<i64, ResourceError> {
    call.payload["pieces"].as_i64().ok_or_else(|| ResourceError::refused("the call says no number of pieces"))
}

/// A service that has coupons for everybody.
struct Generous;

#[async_trait]
impl Participant for Generous {
    async fn carry_out(&self, _: &BranchCall) -> Result<(), ParticipantError> {
        Ok(())
    }
}
