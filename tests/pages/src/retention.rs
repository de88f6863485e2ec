//! The code of docs/retention.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use claimstream::Pipeline;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::shutdown_signal;

use super::Failure;

async fn sweep(pipeline: Pipeline) -> Result<(), Failure> {
    let options = OpenOptions { retention: "delete".parse()?, ..OpenOptions::default() };
    let outbox = SeaOrmOutbox::open("mysql://app@db.example.com/shop", options).await?;
    tokio::select! {
        report = pipeline.run_until(shutdown_signal()?) => { report?; }
        never = outbox.sweep_regularly() => match never {},
    }
    Ok(())
}
