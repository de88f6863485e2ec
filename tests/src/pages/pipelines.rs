//! The code of docs/pipelines.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use std::time::Duration;

use claimstream::{Message, PipelineState, Relay, Verdict, handler_fn};
use claimstream_tokio::shutdown_signal;

use super::Failure;

async fn deliver(_: &Message) -> Result<(), std::io::Error> {
    Ok(())
}

async fn run(relay: Relay) -> Result<(), Failure> {
    let handler = handler_fn(|claimed| async move {
        match deliver(&claimed.message).await {
            Ok(()) => Verdict::ack(),
            Err(error) => Verdict::nack(error),
        }
    });
    let report = relay.pipeline("orders", handler)?.run_until(shutdown_signal()?).await?;
    println!("{report:?}");
    Ok(())
}

async fn serve(healthy: impl Fn() -> Result<(), String>) -> Result<(), Failure> {
    Ok(healthy()?)
}

async fn supervise(relay: Relay) -> Result<(), Failure> {
    let handler = handler_fn(|_| async { Verdict::ack() });
    let pipeline = relay.pipeline("orders", handler)?;
    let monitor = pipeline.monitor();
    let healthy = move || match monitor.state() {
        PipelineState::Failing { since, error, .. } if since > Duration::from_secs(60) => {
            Err(error.to_string())
        }
        PipelineState::Ended => Err("the pipeline has ended".to_owned()),
        _ => Ok(()),
    };
    tokio::select! {
        served = serve(healthy) => served?,
        report = pipeline.run_until(shutdown_signal()?) => { report?; }
    }
    Ok(())
}
