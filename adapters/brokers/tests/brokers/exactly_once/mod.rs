//! From the outbox of one database to the inbox of another, through RabbitMQ, while the broker, the relay and the consumer are killed.
//!
//! The relay and the consumer are processes of this program, so that a kill takes everything from them at once.
//! Promise: from the outbox of one database over RabbitMQ to the inbox of another, each effect happens once
//! and in the order of its key while broker, relay and consumer are killed

mod consumer;
mod databases;
mod helper;
mod relay;

use std::{
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use claimstream::{Compose, Enqueue, NewMessage, StoreError};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_testbed::{PrivateBroker, eventually, known_broker};
use libtest_mimic::Trial;
use sea_orm::ConnectionTrait;

use self::{databases::Databases, helper::Helper};
use crate::{long, rabbitmq::Queues, test};

const QUEUE: &str = "orders";
const KEYS: u64 = 20;

/// Does the work of a relay or a consumer, if this process was started for that.
pub(crate) fn run_job() -> Option<ExitCode> {
    let job = std::env::var(helper::JOB).ok()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        match job.as_str() {
            relay::NAME => relay::run().await,
            _ => consumer::run().await,
        }
    });
    Some(ExitCode::SUCCESS)
}

pub(crate) fn tests() -> Vec<Trial> {
    if known_broker("rabbitmq", "effects that happen once").is_none() || !Databases::are_named() {
        return Vec::new();
    }
    // Guard: a consumption passes through the inbox | app/steps/src/inbox/consumption.rs `attempt`: the
    // effect without `once`
    let name =
        "exactly_once::each_effect_happens_once_and_in_order_while_broker_relay_and_consumer_are_killed";
    vec![long("kills", test(name, each_effect_happens_once))]
}

async fn each_effect_happens_once() {
    let databases = Databases::create().await;
    let broker = PrivateBroker::start("rabbitmq");
    let queue = Queues::at(broker.url()).await.classic().await;
    let outbox = SeaOrmOutbox::open(&databases.outbox(), databases::options()).await.unwrap();
    outbox.connection().execute_unprepared("CREATE TABLE placed (number BIGINT PRIMARY KEY)").await.unwrap();
    let inbox = SeaOrmOutbox::open(&databases.inbox(), databases::options()).await.unwrap();
    for table in consumer::TABLES {
        inbox.connection().execute_unprepared(table).await.unwrap();
    }

    let of = |job| {
        Helper::start(
            job,
            &[
                ("OUTBOX", databases.outbox()),
                ("INBOX", databases.inbox()),
                ("BROKER", broker.url().to_owned()),
                ("QUEUE", queue.clone()),
            ],
        )
    };
    let ended = AtomicBool::new(false);
    let (relay, consumer) = (of(relay::NAME), of(consumer::NAME));
    let kill_helpers = async {
        let mut kills = 0;
        while !ended.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(700)).await;
            if kills % 2 == 0 {
                relay.kill_and_restart()
            } else {
                consumer.kill_and_restart()
            }
            kills += 1;
        }
        kills
    };
    let kill_broker = async {
        for _ in 0..BROKER_KILLS {
            tokio::time::sleep(Duration::from_secs(2)).await;
            broker.kill_and_restart().await;
        }
        // A kill between an effect and its acknowledgement is a matter of chance.
        let came_again = async || consumer::repeats(&inbox).await > 0;
        eventually("a kill makes a message come again", came_again).await;
        ended.store(true, Ordering::Relaxed);
    };
    let (placed, kills, ()) = tokio::join!(place_orders(&outbox, &ended), kill_helpers, kill_broker);
    let effects = consumer::settled_effects(&inbox, placed).await;
    let repeats = consumer::repeats(&inbox).await;
    eprintln!(
        "exactly once: {placed} orders, {BROKER_KILLS} kills of the broker and {kills} of relay and consumer: {} effects, \
         {repeats} repeats had none",
        effects.len()
    );
    assert_eq!(effects.len() as u64, placed);
    databases::check_order(&effects, KEYS);
}

const BROKER_KILLS: usize = 3;

/// Business rows, each with its message in the same transaction; every tenth transaction is rolled back.
async fn place_orders(outbox: &SeaOrmOutbox, ended: &AtomicBool) -> u64 {
    let mut placed = 0;
    let mut tried: u64 = 0;
    while !ended.load(Ordering::Relaxed) {
        tried += 1;
        let number = placed;
        let place = async {
            let tx = outbox.begin().await?;
            let insert = format!("INSERT INTO placed (number) VALUES ({number})");
            tx.execute_unprepared(&insert).await.unwrap();
            let key = format!("customer-{}", number % KEYS).parse().unwrap();
            let message = NewMessage::json(QUEUE, &number).unwrap().ordered_by(key);
            outbox.enqueue(&tx, &[message]).await?;
            if tried.is_multiple_of(10) {
                tx.rollback().await.unwrap();
                return Ok::<_, StoreError>(false);
            }
            outbox.commit(tx).await?;
            Ok(true)
        };
        placed += u64::from(place.await.unwrap());
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    placed
}
