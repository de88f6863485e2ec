//! A message that is handled three times has its effect once, because an inbox remembers it in the effect's transaction.
//!
//! `cargo run -p claimstream-examples --features steps --example inbox`
#![forbid(unsafe_code)]

use std::sync::Arc;

use claimstream::{Compose, Message, NewMessage, Relay, RelayConfig, StoreError, in_transaction, work};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::{
    StepResult,
    inbox::{Consumer, Inbox, InboxError, Once},
};
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;
use sea_orm::{ConnectionTrait, DatabaseTransaction};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite://{}", folder.path().join("bills.db").display());
    let outbox = Arc::new(SeaOrmOutbox::open(&url, OpenOptions::default()).await?);
    outbox.connection().execute_unprepared("CREATE TABLE bill (message VARCHAR(36))").await?;
    outbox.enqueue_now(&[NewMessage::json("orders", &7)?]).await?;

    let config = RelayConfig::default();
    let (inbox, billing) = (Inbox::new(outbox.clone(), &config)?, Consumer::new("billing")?);
    let mut claims = Relay::new(outbox.clone(), TokioTimer::new(), config).claims("orders")?;
    let claim = claims.try_next().await?.ok_or("no message")?;
    let mut billed = 0;
    // A crash before the acknowledgement would bring the message again; here the effect is simply asked for three times.
    for delivery in 1..=3 {
        let message = claim.message();
        let answer: Result<Once, InboxError> = in_transaction(&*outbox, &TokioTimer::new(), |tx| {
            work(inbox.once(tx, &billing, message, |tx| async { Ok(write_bill(tx, message).await?) }))
        })
        .await;
        match answer? {
            Once::Done(_) => billed += 1,
            Once::Repeated(_) => println!("delivery {delivery}: billed before"),
        }
    }
    claim.ack().await?;
    claims.close().await?;
    println!("bills: {billed}");
    assert_eq!(billed, 1, "the effect did not happen once");
    Ok(())
}

async fn write_bill(tx: &DatabaseTransaction, message: &Message) -> Result<StepResult, StoreError> {
    let insert = format!("INSERT INTO bill (message) VALUES ('{}')", message.id);
    tx.execute_unprepared(&insert).await.map_err(|e| store_error("bill", e))?;
    Ok(StepResult::default())
}
