use std::sync::Arc;

use claimstream::{Relay, RelayConfig};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::StreamExt;

use crate::{Failure, times::now, way::Way};

/// The queue that is measured.
pub(crate) const QUEUE: &str = "wakeups";

/// Prints the number of each message and when it was handled, until it is stopped.
pub(crate) async fn run(url: &str, way: Way, redis: &str) -> Result<(), Failure> {
    let outbox = Arc::new(SeaOrmOutbox::open(url, OpenOptions::default()).await?);
    let relay = Relay::new(outbox, TokioTimer::new(), RelayConfig::default());
    let relay = match way.of_relay(url, redis)? {
        Some(wakeup) => relay.with_wakeup(wakeup),
        None => relay,
    };
    let mut claims = relay.claims(QUEUE)?;
    while let Some(claim) = claims.next().await {
        let (claim, handled) = (claim?, now());
        let number: u64 = serde_json::from_slice(claim.message().payload.bytes())?;
        println!("{number} {handled}");
        claim.ack().await?;
    }
    Ok(())
}
