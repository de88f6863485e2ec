//! The code of docs/reading.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use claimstream::{Claimed, Message, Relay};
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

async fn deliver_all(_: &[Claimed]) -> Result<(), std::io::Error> {
    Ok(())
}

async fn read_batches(relay: Relay) -> Result<(), Failure> {
    let mut batches = relay.claims("orders")?.batches().size(50);
    let mut until_stopped = batches.until(shutdown_signal()?);
    while let Some(batch) = until_stopped.next().await {
        let Ok(batch) = batch else { continue };
        let settled = match deliver_all(batch.messages()).await {
            Ok(()) => batch.ack_all().await,
            Err(_) => batch.release_all().await,
        };
        match settled {
            Ok(outcome) => {
                println!("{} done, {} are with another relay", outcome.accepted, outcome.superseded.len())
            }
            Err(error) => eprintln!("what was not settled comes again: {error}"),
        }
    }
    batches.close().await?;
    Ok(())
}
