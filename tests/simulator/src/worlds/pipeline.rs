use std::{sync::Arc, time::Duration};

use claimstream::{PipelineReport, Relay};
use claimstream_domain::{NewMessage, Payload, QueueName};
use claimstream_ports::Observe;

use super::handler::{ScriptedHandler, children, id};
use crate::{
    journal::{End, Hold, Journal},
    relays::{MAX_ATTEMPTS, Relays, config, operate},
    sim::Sim,
    store::FaultyStore,
    timer::ProcessTimer,
};

/// A few messages, and one to three pipelines that handle them, one by one or in batches.
pub(super) async fn run(sim: Sim, in_batches: bool) {
    let hold = if in_batches { Hold::ExclusiveInBatch } else { Hold::Exclusive };
    let journal = Journal::new(&sim, MAX_ATTEMPTS, hold);
    let (store, queue) = (FaultyStore::new(&sim, &journal), QueueName::new("orders").expect("a name"));
    let sent = send_all(&sim, &store, &journal, &queue);
    let (start, this) = (store.clone(), (sim.clone(), Arc::clone(&journal), queue.clone()));
    let start = Arc::new(move |process, stop: futures::channel::oneshot::Receiver<()>| {
        let (sim, journal, queue) = this.clone();
        let config = config(&sim);
        let relay = Relay::new(Arc::new(start.clone()), ProcessTimer::of(&sim, process), config);
        let handler = ScriptedHandler { sim: sim.clone(), journal: Arc::clone(&journal), process };
        let stop = async move {
            let _ = stop.await;
        };
        let run = async move {
            let report = if in_batches {
                let size = 1 + sim.below(4) as u32;
                let pipeline = relay.batch_pipeline(queue, handler).expect("a pipeline").size(size);
                let pipeline =
                    if sim.chance(500) { pipeline.age(Duration::from_millis(900)) } else { pipeline };
                pipeline.run_until(stop).await
            } else {
                relay.pipeline(queue, handler).expect("a pipeline").run_until(stop).await
            };
            let accepted = journal.accepted(relay.owner().instance());
            check_report(&sim, report.expect("settings that work"), accepted);
        };
        Box::pin(run) as futures::future::BoxFuture<'static, ()>
    });
    sim.spawn(
        crate::sim::Process::SCRIPT,
        operate(sim.clone(), store.clone(), journal.clone(), queue.clone()),
    );
    let relays = Relays::new(&sim);
    let (done, count) = (Arc::clone(&journal), sent);
    let is_done = {
        let queue = queue.clone();
        move || done.count(&queue) == count && done.all_ended(&queue)
    };
    relays.run(start, is_done).await;
    check_store(&sim, &store, &journal, &queue).await;
}

/// Enqueues a few messages, some at once and some later; answers how many there will be.
pub(super) fn send_all(sim: &Sim, store: &FaultyStore, journal: &Arc<Journal>, queue: &QueueName) -> u64 {
    let count = 1 + sim.below(6);
    let (sim, store, journal, queue) = (sim.clone(), store.clone(), Arc::clone(journal), queue.clone());
    sim.clone().spawn(crate::sim::Process::SCRIPT, async move {
        for n in 1..=count {
            let message = NewMessage::new(id(n), queue.clone(), Payload::json(format!("{{\"n\":{n}}}")));
            if sim.chance(300) {
                sim.sleep(sim.time_below(Duration::from_secs(30))).await;
            }
            journal.enqueued(&message);
            store.store.enqueue_now(&[message]).await.expect("an enqueue");
        }
    });
    count
}

/// Every claimed message is counted once, and none is called accepted that the store has not taken.
fn check_report(sim: &Sim, report: PipelineReport, accepted: u64) {
    sim.trace(|| format!("{report:?}"));
    let PipelineReport { claimed, acked, nacked, buried, released, superseded, unsettled, .. } = report;
    let counted = acked + nacked + buried + released;
    sim.require(claimed == counted + superseded + unsettled, || {
        format!("a report does not add up: {report:?}")
    });
    sim.require(counted <= accepted, || format!("{accepted} were accepted, but the report says {report:?}"));
}

/// Nothing is left in the store but dead letters and children, as many as there must be.
pub(super) async fn check_store(sim: &Sim, store: &FaultyStore, journal: &Journal, queue: &QueueName) {
    let all = store.store.observe().await.expect("an answer");
    let of = |queue: &QueueName| {
        let status = all.iter().find(|status| status.queue == *queue);
        status.map_or((0, 0), |status| (status.depth, status.dead))
    };
    let (depth, dead) = of(queue);
    sim.require(depth == 0, || format!("{depth} messages are left, all of which have ended"));
    let buried = journal.ended(queue, End::Dead);
    sim.require(dead == buried, || format!("{dead} dead letters are kept of {buried}"));
    let (born, (kept, _)) = (journal.count(&children()), of(&children()));
    sim.require(born == kept, || format!("{born} children were emitted, and {kept} are there"));
}
