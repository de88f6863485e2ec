use std::{sync::Arc, time::Duration};

use claimstream::{Relay, RelayConfig};
use claimstream_domain::{Claimed, MessageId, NewMessage, Payload, QueueName, step::StepResult};
use claimstream_steps::inbox::{Consumer, Inbox, StepError};
use futures::{channel::oneshot, future::BoxFuture};

use super::handler::id;
use crate::{
    Scripted,
    db::{FaultyDb, FaultyTx},
    journal::{End, Hold, Journal},
    relays::{MAX_ATTEMPTS, Relays, config},
    running::Noted,
    sim::{Process, Sim},
    store::{FaultyStore, LEASE},
    timer::ProcessTimer,
    weather::Mishap,
};

/// Messages whose effect happens once through the inbox; some are sent again, with what they said or with something else.
pub(super) async fn run(sim: Sim) {
    let journal = Journal::new(&sim, MAX_ATTEMPTS, Hold::Exclusive);
    let (db, queue) =
        (FaultyDb::new(FaultyStore::new(&sim, &journal)), QueueName::new("orders").expect("a name"));
    let count = 1 + sim.below(4);
    for n in 1..=count {
        let (db, queue) = (db.clone(), queue.clone());
        sim.spawn(Process::SCRIPT, async move { send(db, queue, n).await });
    }
    let (start, to) = (db.clone(), queue.clone());
    let start = Arc::new(move |process, stop: oneshot::Receiver<()>| {
        let (db, queue) = (start.clone(), to.clone());
        Box::pin(async move {
            let (sim, journal) = (db.sim.clone(), db.outbox.journal.clone());
            let config = RelayConfig { handle_timeout: LEASE * 2, ..config(&sim) };
            let inbox = Inbox::new(Arc::new(db.clone()), &config).expect("a ledger that keeps steps");
            let consumer = Consumer::new("billing").expect("a name");
            let handler = inbox.handler(consumer, ProcessTimer::coarse(&sim, process), effect_in(&db));
            let relay = Relay::new(Arc::new(db.outbox.clone()), ProcessTimer::of(&sim, process), config);
            let pipeline = relay.pipeline(queue, Noted { handler, journal, process }).expect("a pipeline");
            let report = pipeline
                .run_until(async move {
                    let _ = stop.await;
                })
                .await;
            sim.require(report.is_ok(), || "settings that do not work".into());
        }) as BoxFuture<'static, ()>
    });
    let finished = || db.balance("producers") == count as i64 && journal.all_ended(&queue);
    Relays::new(&sim).run(start, finished).await;
    for n in 1..=count {
        let (had, end) = (db.balance(&account(id(n))), journal.end(id(n)));
        sim.trace(|| format!("the effect of message {n} was had {had} times; its end: {end:?}"));
        sim.require(had <= 1, || format!("the effect of message {n} was had {had} times"));
        let is_missing = had == 0 && db.balance(&acked(id(n))) > 0;
        sim.require(!is_missing, || format!("message {n} was acknowledged without its effect"));
        let other = db.balance(&account_of_others(id(n)));
        sim.require(had + other <= 1, || {
            format!("two payloads under the id of message {n} had their effects")
        });
    }
}

/// Sends a message, and perhaps, when it has ended, another one under its id.
async fn send(db: FaultyDb, queue: QueueName, n: u64) {
    let sim = &db.sim;
    let message = |text: &str| NewMessage::new(id(n), queue.clone(), Payload::json(text.to_owned()));
    let journal = &db.outbox.journal;
    for text in [FIRST, if sim.chance(500) { FIRST } else { OTHER }] {
        sim.sleep(sim.time_below(Duration::from_secs(20))).await;
        journal.enqueued(&message(text));
        db.outbox.store.enqueue_now(&[message(text)]).await.expect("an enqueue");
        while journal.end(id(n)).is_none() {
            sim.sleep(Duration::from_secs(1)).await;
        }
        let is_done = journal.end(id(n)) == Some(End::Done);
        if is_done && text == FIRST {
            db.note(&acked(id(n)));
        }
        let is_other = text == OTHER && is_done && db.balance(&account_of_others(id(n))) == 0;
        sim.require(!is_other, || format!("message {n} was acknowledged for another payload"));
        // A dead letter keeps its id.
        if !is_done || sim.chance(400) {
            break;
        }
    }
    db.note("producers");
}

const FIRST: &str = "{\"first\":true}";
const OTHER: &str = "{\"first\":false}";

fn account(id: MessageId) -> String {
    format!("effects of {id}")
}

fn account_of_others(id: MessageId) -> String {
    format!("effects of others under {id}")
}

fn acked(id: MessageId) -> String {
    format!("acknowledged {id}")
}

/// Counts a message in the transaction, or fails in one way or another.
fn effect_in(
    db: &FaultyDb,
) -> impl for<'tx> Fn(&'tx FaultyTx, &'tx Claimed) -> BoxFuture<'tx, Result<StepResult, StepError>> + use<> {
    let db = db.clone();
    move |tx, claimed| {
        let db = db.clone();
        Box::pin(async move {
            let (sim, id) = (&db.sim, claimed.message.id);
            let is_first = claimed.message.payload.bytes() == FIRST.as_bytes();
            db.book(tx, &if is_first { account(id) } else { account_of_others(id) }, 1);
            if sim.chance(300) {
                sim.sleep(sim.time_below(LEASE)).await;
            }
            if sim.chance(sim.weather().handler) {
                sim.count(Mishap::Handler);
                match sim.below(4) {
                    0 => return Err(StepError::nack("a scripted failure")),
                    1 => return Err(StepError::bury("a scripted end")),
                    2 => std::panic::panic_any(Scripted),
                    _ => std::future::pending().await,
                }
            }
            Ok(StepResult::default())
        })
    }
}
