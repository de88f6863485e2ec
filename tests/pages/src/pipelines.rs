//! The code of docs/pipelines.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use std::time::Duration;

use async_trait::async_trait;
use claimstream::{
    BatchHandler, Claimed, DeadLetterFilter, DeadLetters, Message, PipelineState, Relay, Verdict, Verdicts,
    handler_fn,
};
use claimstream_sea_orm::SeaOrmOutbox;
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
    let healthy = move || match (monitor.state(), monitor.silent_for()) {
        (PipelineState::Failing { since, error, .. }, _) if since > Duration::from_secs(60) => {
            Err(error.to_string())
        }
        (PipelineState::Ended, _) => Err("the pipeline has ended".to_owned()),
        (_, Some(silent)) if silent > Duration::from_secs(25) => {
            Err(format!("the pipeline has not moved for {silent:?}"))
        }
        _ => Ok(()),
    };
    tokio::select! {
        served = serve(healthy) => served?,
        report = pipeline.run_until(shutdown_signal()?) => { report?; }
    }
    Ok(())
}

async fn dead_letters(outbox: SeaOrmOutbox) -> Result<(), Failure> {
    let of_mail = DeadLetterFilter { queue: Some("mail".parse()?), ..DeadLetterFilter::default() };
    for dead in outbox.list(&of_mail, 100).await? {
        println!("{} after {} attempts: {}", dead.message.id, dead.attempts, dead.reason);
    }
    let again = outbox.revive(&of_mail).await?;
    println!("{again} come again");
    Ok(())
}

struct SearchEngine;

impl SearchEngine {
    async fn index(&self, batch: &[Claimed]) -> Vec<Result<(), String>> {
        vec![Ok(()); batch.len()]
    }
}

struct Indexer(SearchEngine);

#[async_trait]
impl BatchHandler for Indexer {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let answers = self.0.index(batch).await; // one request for all of them
        for (index, answer) in answers.into_iter().enumerate() {
            verdicts.give(
                index,
                match answer {
                    Ok(()) => Verdict::ack(),
                    Err(why) => Verdict::nack(why),
                },
            );
        }
    }
}

async fn run_batches(relay: Relay, engine: SearchEngine) -> Result<(), Failure> {
    let pipeline = relay.batch_pipeline("orders", Indexer(engine))?.size(200).concurrency(2);
    let report = pipeline.run_until(shutdown_signal()?).await?;
    println!("{report:?}");
    Ok(())
}
