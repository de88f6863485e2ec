//! A1.6: messages that are handed out and settled in batches.
//! Promise: verdicts of a batch count although its process ends in the middle of it, and messages that are
//! settled too late are named

use std::sync::Arc;

use async_trait::async_trait;
use claimstream::{
    Batch, BatchHandler, BatchPipeline, Batches, Claimed, PipelineReport, Relay, Verdict, Verdicts,
};
use claimstream_domain::{MessageId, RetryPolicy};
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use futures::{StreamExt, channel::mpsc, future::pending};

use super::{process::config, watched::Watched};
use crate::{
    Fixture, Instance, LEASE, ids,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<Fixture>] = cases!["scenarios" needs [Claims, Settlements]:
    a1_6_a_batch_is_settled_together_and_names_what_came_too_late,
    a1_6_each_message_of_a_batch_ends_as_its_verdict_says,
    a1_6_a_bad_message_costs_the_others_of_its_batch_no_attempt,
    a1_6_verdicts_of_a_process_that_ends_in_the_middle_of_a_batch_count,
];

pub async fn a1_6_a_batch_is_settled_together_and_names_what_came_too_late(fixture: Fixture) {
    let sent = fixture.enqueue(10).await;
    let store = Watched::new(&fixture.store, None);
    let mut process = batches(&store, &fixture.store, 5);
    let (first, late) = (next(&mut process, 5).await, next(&mut process, 5).await);
    assert_eq!(store.claims(), 1, "another claim under way could take what comes back");
    let outcome = first.ack_all().await.expect("settle");
    assert_eq!((outcome.accepted, outcome.superseded), (5, vec![]));
    fixture.advance(LEASE).await;
    // After a take-over they are handed out one at a time.
    let taken = ids(&fixture.rival.take_all().await);
    assert!(!taken.is_empty() && sent[5..].starts_with(&taken), "{taken:?}");
    let outcome = late.ack_all().await.expect("settle");
    assert_eq!(outcome.accepted + outcome.superseded.len(), 5);
    assert!(outcome.superseded.starts_with(&taken), "{outcome:?} of {taken:?}");
}

pub async fn a1_6_each_message_of_a_batch_ends_as_its_verdict_says(fixture: Fixture) {
    let sent = fixture.enqueue(4).await;
    let store = Watched::new(&fixture.store, None);
    let batch = next(&mut batches(&store, &fixture.store, 10), 4).await;
    let verdicts = [Verdict::ack(), Verdict::nack("no"), Verdict::bury("never"), Verdict::Release];
    let outcome = batch.settle(verdicts).await.expect("settle");
    assert_eq!((outcome.accepted, outcome.superseded), (4, vec![]));
    let released = fixture.rival.take_one().await;
    assert_eq!((released.message.id, released.attempt), (sent[3], 1));
    fixture.rival.ack(&released).await;
    fixture.advance(RetryPolicy::default().base).await;
    let again = fixture.rival.take_one().await;
    assert_eq!((again.message.id, again.attempt), (sent[1], 2));
    let dead: Vec<_> = fixture.rival.dead().await.into_iter().map(|dead| dead.message.id).collect();
    assert_eq!(dead, [sent[2]]);
}

pub async fn a1_6_a_bad_message_costs_the_others_of_its_batch_no_attempt(fixture: Fixture) {
    let sent = fixture.enqueue(10).await;
    let bad = sent[4];
    let report = handled(&fixture.store, sent.len(), move |id| assert_ne!(id, bad)).await;
    assert_eq!((report.claimed, report.acked, report.nacked, report.panicked), (10, 9, 1, 2), "{report:?}");
    fixture.advance(RetryPolicy::default().base).await;
    let again = fixture.rival.take_one().await;
    assert_eq!((again.message.id, again.attempt), (bad, 2));
    fixture.rival.ack(&again).await;
    fixture.rival.finds_nothing().await;
}

pub async fn a1_6_verdicts_of_a_process_that_ends_in_the_middle_of_a_batch_count(fixture: Fixture) {
    let sent = fixture.enqueue(8).await;
    let store = Watched::new(&fixture.store, None);
    let running = pipeline(&store, &fixture.store, HalfAndHang).run_until(pending());
    tokio::select! {
        ended = running => panic!("{ended:?}"),
        () = until_left(&fixture.rival, &store, 4) => {}
    }
    fixture.advance(LEASE).await;
    let mut again = Vec::new();
    while again.len() < 4 {
        let claimed = fixture.rival.take_one().await;
        again.push((claimed.message.id, claimed.attempt));
        fixture.rival.ack(&claimed).await;
    }
    again.sort();
    assert_eq!(again, sent[4..].iter().map(|id| (*id, 2)).collect::<Vec<_>>());
    fixture.rival.finds_nothing().await;
}

/// A relay without room for more than one claim.
fn relay(store: &Arc<Watched>) -> Relay {
    Relay::from_ports(store.clone(), store.clone(), Arc::new(TokioTimer::new()), config(10))
}

fn batches(store: &Arc<Watched>, instance: &Instance, size: u32) -> Batches {
    relay(store).claims(instance.queue().clone()).expect("a stream").batches().size(size)
}

async fn next(batches: &mut Batches, messages: usize) -> Batch {
    let batch = batches.next().await.expect("the stream has no end").expect("the store works");
    assert_eq!(batch.len(), messages);
    batch
}

fn pipeline(
    store: &Arc<Watched>,
    instance: &Instance,
    handler: impl BatchHandler + 'static,
) -> BatchPipeline {
    relay(store).batch_pipeline(instance.queue().clone(), handler).expect("a pipeline")
}

/// Runs a pipeline until a handler has been at `messages` for the last time; `handle` panics at a bad one.
async fn handled(
    instance: &Instance,
    messages: usize,
    handle: impl Fn(MessageId) + Send + Sync + 'static,
) -> PipelineReport {
    let (noted, mut seen) = mpsc::unbounded();
    let handler = Noting { handle, noted };
    let all = async move {
        let mut last = 0;
        while last < messages {
            last += seen.next().await.unwrap_or_default();
        }
    };
    pipeline(&Watched::new(instance, None), instance, handler).run_until(all).await.expect("a report")
}

/// Acknowledges each message that `handle` lets pass; one that is alone counts as done, whatever becomes of it.
struct Noting<F> {
    handle: F,
    noted: mpsc::UnboundedSender<usize>,
}

#[async_trait]
impl<F: Fn(MessageId) + Send + Sync> BatchHandler for Noting<F> {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        for (index, claimed) in batch.iter().enumerate() {
            if batch.len() == 1 {
                let _ = self.noted.unbounded_send(1);
            }
            (self.handle)(claimed.message.id);
            verdicts.give(index, Verdict::ack());
            if batch.len() > 1 {
                let _ = self.noted.unbounded_send(1);
            }
        }
    }
}

/// Acknowledges the first half of a batch and is never done with the other half.
struct HalfAndHang;

#[async_trait]
impl BatchHandler for HalfAndHang {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        (0..batch.len() / 2).for_each(|index| verdicts.give(index, Verdict::ack()));
        pending::<()>().await;
    }
}

/// Waits until so many messages are left and no call is under way: a claim that ends later could take what expires meanwhile.
async fn until_left(instance: &Instance, store: &Watched, messages: u64) {
    eventually(&format!("{messages} messages are left"), || async {
        instance.status().await.is_some_and(|status| status.depth == messages) && !store.is_busy()
    })
    .await;
}
