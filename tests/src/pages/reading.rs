//! The code of docs/reading.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use claimstream::{Message, Relay};
use claimstream_tokio::shutdown_signal;
use futures::StreamExt;

use super::Failure;

async fn deliver(_: &Message) -> Result<(), std::io::Error> {
    Ok(())
}

async fn read(relay: Relay) -> Result<(), Failure> {
    let mut claims = relay.claims("orders")?;
    let mut until_stopped = claims.until(shutdown_signal()?);
    while let Some(claim) = until_stopped.next().await {
        // The error is in the trace, and the stream continues after it.
        let Ok(claim) = claim else { continue };
        let _settled = match deliver(claim.message()).await {
            Ok(()) => claim.ack().await,
            Err(error) => claim.nack(error).await,
        };
    }
    claims.close().await?; // gives back at once what you did not take
    Ok(())
}
