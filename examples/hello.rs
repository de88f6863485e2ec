//! One message, written in a transaction and handled once.
//!
//! `cargo run -p claimstream-examples --example hello`
#![forbid(unsafe_code)]

use std::sync::Arc;

use claimstream::{Compose, Enqueue, NewMessage, Relay, RelayConfig};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite://{}", folder.path().join("hello.db").display());
    let outbox = Arc::new(SeaOrmOutbox::open(&url, OpenOptions::default()).await?);

    let tx = outbox.begin().await?;
    outbox.enqueue(&tx, &[NewMessage::json("greetings", &"hello")?]).await?;
    outbox.commit(tx).await?;

    let mut claims = Relay::new(outbox, TokioTimer::new(), RelayConfig::default()).claims("greetings")?;
    let claim = claims.try_next().await?.ok_or("no message")?;
    println!("{}", String::from_utf8_lossy(claim.message().payload.bytes()));
    claim.ack().await?;
    claims.close().await?;
    Ok(())
}
