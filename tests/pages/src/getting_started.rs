//! The code of docs/getting-started.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use std::sync::Arc;

use claimstream::{Compose, Enqueue, NewMessage, Relay, RelayConfig};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;

async fn first_message() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let outbox = Arc::new(SeaOrmOutbox::open("sqlite://shop.db", OpenOptions::default()).await?);

    let tx = outbox.begin().await?; // your own statements go into `tx` as well
    outbox.enqueue(&tx, &[NewMessage::json("orders", &"order 7 is paid")?]).await?;
    outbox.commit(tx).await?;

    let relay = Relay::new(outbox, TokioTimer::new(), RelayConfig::default());
    let mut claims = relay.claims("orders")?;
    if let Some(claim) = claims.try_next().await? {
        println!("{}", String::from_utf8_lossy(claim.message().payload.bytes()));
        claim.ack().await?;
    }
    claims.close().await?;
    Ok(())
}
