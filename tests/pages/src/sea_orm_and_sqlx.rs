//! The code of docs/cookbook/sea-orm-and-sqlx.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use claimstream::{Compose, Enqueue, NewMessage, StoreError, in_transaction, work};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_tokio::TokioTimer;
use sea_orm::{ConnectionTrait, Database, TransactionTrait, sqlx};

use super::Failure;

async fn own_connection() -> Result<(), Failure> {
    let outbox = SeaOrmOutbox::open("mysql://app@db.example.com/shop", OpenOptions::default()).await?;
    let db = Database::connect("mysql://app@db.example.com/shop").await?;

    let tx = db.begin().await?;
    tx.execute_unprepared("UPDATE orders SET paid = TRUE WHERE id = 7").await?;
    outbox.enqueue_on(&tx, &[NewMessage::json("orders", &7)?]).await?;
    tx.commit().await?;
    Ok(())
}

async fn restarted(outbox: SeaOrmOutbox) -> Result<(), Failure> {
    let messages = [NewMessage::json("orders", &7)?];
    let paid: Result<(), StoreError> = in_transaction(&outbox, &TokioTimer::new(), |tx| {
        work(async {
            let update = "UPDATE orders SET paid = TRUE WHERE id = 7";
            tx.execute_unprepared(update).await.map_err(|e| store_error("pay", e))?;
            outbox.enqueue(tx, &messages).await?;
            Ok(())
        })
    })
    .await;
    paid?;
    Ok(())
}

async fn sqlite(outbox: SeaOrmOutbox, pool: sqlx::SqlitePool) -> Result<(), Failure> {
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query("UPDATE orders SET paid = TRUE WHERE id = 7").execute(&mut *tx).await?;
    outbox.enqueue_sqlx_sqlite(&mut tx, &[NewMessage::json("orders", &7)?]).await?;
    tx.commit().await?;
    Ok(())
}

async fn kinds(outbox: SeaOrmOutbox, pool: sqlx::MySqlPool) -> Result<(), StoreError> {
    use sea_orm::{DbErr, RuntimeErr};

    let begun = pool.begin().await;
    let mut tx = begun.map_err(|e| store_error("pay", DbErr::Exec(RuntimeErr::SqlxError(e.into()))))?;
    drop((outbox, &mut tx));
    Ok(())
}
