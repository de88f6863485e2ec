//! The code of docs/writing.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use std::sync::Arc;

use claimstream::{Compose, Enqueue, EnqueueHinted, Hint, LocalWakeup, NewMessage, Relay};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::{
    ConnectionTrait,
    sqlx::{self, Executor, mysql::MySqlPoolOptions},
};

use super::Failure;

#[derive(serde::Serialize)]
struct OrderPaid {
    order: u64,
}

async fn with_sea_orm(outbox: SeaOrmOutbox) -> Result<(), Failure> {
    let tx = outbox.begin().await?;
    tx.execute_unprepared("UPDATE orders SET paid = TRUE WHERE id = 7").await?;
    outbox.enqueue(&tx, &[NewMessage::json("orders", &OrderPaid { order: 7 })?]).await?;
    outbox.commit(tx).await?;
    Ok(())
}

async fn with_sqlx(outbox: SeaOrmOutbox, pool: sqlx::MySqlPool) -> Result<(), Failure> {
    let mut tx = pool.begin().await?;
    sqlx::query("UPDATE orders SET paid = TRUE WHERE id = 7").execute(&mut *tx).await?;
    outbox.enqueue_sqlx(&mut tx, &[NewMessage::json("orders", &OrderPaid { order: 7 })?]).await?;
    tx.commit().await?;
    Ok(())
}

async fn hints(outbox: SeaOrmOutbox, relay: Relay) -> Result<(), Failure> {
    let wakeup = Arc::new(LocalWakeup::new());
    let relay = relay.with_wakeup(wakeup.clone());

    let tx = outbox.begin().await?;
    let hint = outbox.enqueue_hinted(&tx, &[NewMessage::json("orders", &OrderPaid { order: 8 })?]).await?;
    outbox.commit(tx).await?;
    hint.wake(&*wakeup).await;
    drop(relay);
    Ok(())
}

async fn hints_of_sqlx(
    outbox: SeaOrmOutbox,
    pool: sqlx::MySqlPool,
    wakeup: Arc<LocalWakeup>,
) -> Result<(), Failure> {
    let messages = [NewMessage::json("orders", &OrderPaid { order: 8 })?];
    let mut tx = pool.begin().await?;
    let hint = Hint::of(&messages, outbox.enqueue_sqlx(&mut tx, &messages).await?);
    tx.commit().await?;
    hint.wake(&*wakeup).await;
    Ok(())
}

async fn in_its_own(outbox: SeaOrmOutbox) -> Result<(), Failure> {
    let tx = outbox.begin_own().await?;
    tx.execute_unprepared("UPDATE orders SET paid = TRUE WHERE id = 7").await?;
    outbox.enqueue(&tx, &[NewMessage::json("orders", &OrderPaid { order: 7 })?]).await?;
    tx.commit().await?; // not outbox.commit(tx); the other end is tx.roll_back()
    Ok(())
}

async fn hand_in() -> Result<SeaOrmOutbox, Failure> {
    let pool = MySqlPoolOptions::new()
        // A cancelled caller may leave a transaction open. Without this hook the next caller would write into it.
        .after_release(|connection, _| {
            Box::pin(async move { connection.execute("ROLLBACK").await.map(|_| true) })
        })
        .connect("mysql://app@db.example.com/shop")
        .await?;
    let outbox = SeaOrmOutbox::from_pool(pool.clone(), OpenOptions::default()).await?;
    Ok(outbox)
}
