//! The inbox on real databases: effects once under redelivery, concurrent duplicates and crashes between effect and ack,
//! and what many sessions in the ledger at a time cost.

mod contention;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use claimstream::{Compose, Handler, Relay, RelayConfig, Verdict};
use claimstream_domain::{Claimed, Lease, MessageId, NewMessage, Payload, StepResult};
use claimstream_ports::Transactions;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::inbox::{Consumer, Inbox, InboxError, InboxHandler, Once, Undone};
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, future::BoxFuture, future::join_all};
use sea_orm::{ConnectionTrait, DatabaseTransaction, Statement};
use uuid::Uuid;

use crate::{Instance, Ports, Server, Stage, Suite, backend::SeaOrmVenue};

/// Adds the inbox on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add_everywhere(suite, "sqlite", || SeaOrmVenue::sqlite("auto"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let of_server = url.clone();
        add_everywhere(suite, server.name, move || SeaOrmVenue::server(server.name, &of_server, "auto"));
        contention::add_to(suite, server.name, move || SeaOrmVenue::server(server.name, &url, "auto"));
    }
}

fn add_everywhere(
    suite: &mut Suite,
    name: &'static str,
    venue: impl Fn() -> SeaOrmVenue + Clone + Send + 'static,
) {
    let mut add = |what: &str, play: fn(Scene) -> BoxFuture<'static, ()>| {
        let venue = venue.clone();
        suite.add_async_trial(&format!("{name}::inbox::{what}"), async move {
            let venue = venue();
            play(Scene::of(&venue).await).await;
        });
    };
    add("an_effect_is_had_once_however_many_have_the_message", |scene| Box::pin(parallel_duplicates(scene)));
    add("an_effect_is_had_once_though_its_message_comes_again_and_again", |scene| {
        Box::pin(comes_again(scene))
    });
    add("a_crash_between_effect_and_ack_has_no_second_effect", |scene| Box::pin(crash_after_commit(scene)));
    add("a_crash_before_the_commit_leaves_no_effect_and_no_step", |scene| {
        Box::pin(crash_before_commit(scene))
    });
    add("a_known_id_with_another_payload_is_buried", |scene| Box::pin(conflict(scene)));
    add("an_effect_that_fails_leaves_nothing_and_may_be_had_later", |scene| Box::pin(failure(scene)));
    add("each_consumer_has_its_own_effect_and_repeats_its_answer", |scene| Box::pin(consumers(scene)));
    add("a_ledger_that_forgets_too_soon_is_refused", |scene| Box::pin(forgetful(scene)));
}

/// An outbox in a database of its own, with a table of effects that takes every row it is given.
struct Scene {
    outbox: Arc<SeaOrmOutbox>,
    instance: Instance,
    url: String,
    options: OpenOptions,
}

impl Scene {
    async fn of(venue: &SeaOrmVenue) -> Self {
        let url = venue.fresh_database().await.expect("a database");
        let options = OpenOptions { max_connections: 20, ..venue.options() };
        let outbox = SeaOrmOutbox::open(&url, options.clone()).await.expect("open");
        let instance = Instance::new(7, Ports::of(outbox.clone()), Stage::fresh_queue(), 10);
        let table = "CREATE TABLE effect (message VARCHAR(64) NOT NULL)";
        outbox.connection().execute_unprepared(table).await.expect("a table");
        Self { outbox: Arc::new(outbox), instance, url, options }
    }

    fn inbox(&self) -> Inbox<SeaOrmOutbox> {
        Inbox::new(self.outbox.clone(), &RelayConfig::default()).expect("an inbox")
    }

    fn handler(&self) -> InboxHandler<SeaOrmOutbox, Effect> {
        self.inbox().handler(billing(), TokioTimer::new(), write_effect)
    }

    async fn claimed(&self, count: usize) -> Vec<Claimed> {
        let queue = self.instance.queue();
        let messages: Vec<_> =
            (0..count).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
        self.outbox.enqueue_now(&messages).await.expect("enqueue");
        self.instance.take_all().await
    }

    /// How many effects each message has had.
    async fn effects(&self) -> BTreeMap<String, i64> {
        let db = self.outbox.connection();
        let sql = "SELECT message, COUNT(*) FROM effect GROUP BY message";
        let rows =
            db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.expect("a count");
        let pair = |row: &sea_orm::QueryResult| {
            (row.try_get_by_index(0).expect("an id"), row.try_get_by_index(1).expect("a number"))
        };
        rows.iter().map(pair).collect()
    }

    async fn each_once(&self, count: usize) {
        let effects = self.effects().await;
        assert_eq!(effects.len(), count);
        assert!(effects.values().all(|had| *had == 1), "{effects:?}");
    }
}

type Effect =
    for<'tx> fn(&'tx DatabaseTransaction, &'tx Claimed) -> BoxFuture<'tx, Result<StepResult, Undone>>;

fn write_effect<'tx>(
    tx: &'tx DatabaseTransaction,
    claimed: &'tx Claimed,
) -> BoxFuture<'tx, Result<StepResult, Undone>> {
    async move {
        let insert = format!("INSERT INTO effect (message) VALUES ('{}')", claimed.message.id);
        tx.execute_unprepared(&insert).await.map_err(|e| store_error("effect", e))?;
        Ok(StepResult::default())
    }
    .boxed()
}

fn billing() -> Consumer {
    Consumer::new("billing").expect("a consumer")
}

async fn parallel_duplicates(scene: Scene) {
    let claimed = scene.claimed(25).await;
    let handler = Arc::new(scene.handler());
    let duplicates = claimed.iter().flat_map(|claimed| (0..4).map(move |_| claimed.clone()));
    let handled = duplicates.map(|claimed| {
        let handler = Arc::clone(&handler);
        tokio::spawn(async move { handler.handle(&claimed).await })
    });
    for verdict in join_all(handled).await {
        assert_eq!(verdict.expect("a verdict"), Verdict::ack());
    }
    scene.each_once(25).await;
}

/// Two relays; every third try fails after its write, and its message comes again, perhaps to the other one.
async fn comes_again(scene: Scene) {
    let queue = scene.instance.queue().clone();
    let messages: Vec<_> = (0..60).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    scene.outbox.enqueue_now(&messages).await.expect("enqueue");
    let lease = Lease::new(Duration::from_millis(500)).expect("a lease");
    let settle_age = Duration::from_millis(1);
    let retry = claimstream_domain::RetryPolicy {
        base: Duration::from_millis(1),
        cap: Duration::from_millis(1),
        max_attempts: 1000,
        ..Default::default()
    };
    let config = RelayConfig { lease, settle_age, retry, ..RelayConfig::default() };
    let tries = Arc::new(AtomicU32::new(0));
    let runs = (0..2).map(|_| {
        let relay = Relay::new(scene.outbox.clone(), TokioTimer::new(), config.clone());
        let counted = Arc::clone(&tries);
        let handler = scene.inbox().handler(billing(), TokioTimer::new(), move |tx, claimed| {
            let tried = counted.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                let done = write_effect(tx, claimed).await?;
                match tried % 3 {
                    0 => Err(Undone::nack("told to")),
                    1 => {
                        tokio::time::sleep(Duration::from_millis(15)).await;
                        Ok(done)
                    }
                    _ => Ok(done),
                }
            })
        });
        let all = async {
            for _ in 0..3000 {
                if scene.effects().await.len() == 60 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        relay.pipeline(queue.clone(), handler).expect("a pipeline").run_until(all)
    });
    for report in join_all(runs).await {
        report.expect("a report");
    }
    scene.each_once(60).await;
    assert!(tries.load(Ordering::SeqCst) > 60, "nothing was tried twice");
}

async fn crash_after_commit(scene: Scene) {
    let claimed = scene.claimed(1).await;
    let handler = scene.handler();
    assert_eq!(handler.handle(&claimed[0]).await, Verdict::ack());
    // The verdict is never settled; the message comes again.
    scene.instance.nack(&claimed[0], Duration::ZERO, "the process died").await;
    let again = scene.instance.take_one().await;
    assert_eq!((again.message.id, again.attempt), (claimed[0].message.id, 2));
    assert_eq!(scene.handler().handle(&again).await, Verdict::ack());
    scene.each_once(1).await;
}

async fn crash_before_commit(scene: Scene) {
    let claimed = scene.claimed(1).await.remove(0);
    let (written, reached) = tokio::sync::oneshot::channel::<()>();
    let written = std::sync::Mutex::new(Some(written));
    let handler = scene.inbox().handler(billing(), TokioTimer::new(), move |tx, claimed| {
        let written = written.lock().expect("a lock").take();
        Box::pin(async move {
            write_effect(tx, claimed).await?;
            drop(written);
            futures::future::pending().await
        })
    });
    let handling = handler.handle(&claimed);
    tokio::select! {
        verdict = handling => panic!("{verdict:?}"),
        _ = reached => {}
    }
    assert!(scene.effects().await.is_empty());
    assert_eq!(scene.handler().handle(&claimed).await, Verdict::ack());
    scene.each_once(1).await;
}

async fn conflict(scene: Scene) {
    let mut claimed = scene.claimed(1).await.remove(0);
    let handler = scene.handler();
    assert_eq!(handler.handle(&claimed).await, Verdict::ack());
    claimed.message.payload = Payload::json("\"something else\"");
    let verdict = handler.handle(&claimed).await;
    let Verdict::Bury { reason } = verdict else { panic!("{verdict:?}") };
    assert!(reason.as_str().contains("billing has had a message"), "{reason}");
    scene.each_once(1).await;
}

async fn failure(scene: Scene) {
    let claimed = scene.claimed(1).await.remove(0);
    let failing = scene.inbox().handler(billing(), TokioTimer::new(), |tx, claimed| {
        Box::pin(async move {
            write_effect(tx, claimed).await?;
            Err(Undone::nack("the bank is closed"))
        })
    });
    assert_eq!(failing.handle(&claimed).await, Verdict::nack("the bank is closed"));
    assert!(scene.effects().await.is_empty());
    assert_eq!(scene.handler().handle(&claimed).await, Verdict::ack());
    scene.each_once(1).await;
}

async fn consumers(scene: Scene) {
    let message =
        NewMessage::new(MessageId::new(Uuid::now_v7()), scene.instance.queue().clone(), Payload::json("7"));
    scene.outbox.enqueue_now(&[message]).await.expect("enqueue");
    let claimed = scene.instance.take_one().await;
    let once = async |consumer: &str, answer: &'static [u8]| {
        let inbox = scene.inbox();
        let consumer = Consumer::new(consumer).expect("a consumer");
        let tx = scene.outbox.begin_tx().await.expect("begin");
        let done = inbox.once(&tx, &consumer, &claimed, |_| async {
            Ok::<_, InboxError>(StepResult::new(answer).expect("a result"))
        });
        let done = done.await.expect("an answer");
        scene.outbox.commit_tx(tx).await.expect("commit");
        done
    };
    let result = |answer: &[u8]| StepResult::new(answer).expect("a result");
    assert_eq!(once("billing", b"bill 1").await, Once::Done(result(b"bill 1")));
    assert_eq!(once("shipping", b"parcel 1").await, Once::Done(result(b"parcel 1")));
    assert_eq!(once("billing", b"bill 2").await, Once::Repeated(result(b"bill 1")));
}

async fn forgetful(scene: Scene) {
    let options = OpenOptions { step_retention: Duration::from_secs(3600), ..scene.options.clone() };
    let outbox = Arc::new(SeaOrmOutbox::open(&scene.url, options).await.expect("open"));
    let refused = Inbox::new(outbox, &RelayConfig::default()).expect_err("a refusal").to_string();
    assert!(refused.starts_with("step_retention is 1h, it must be longer than 5h"), "{refused}");
    let options = OpenOptions { step_retention: Duration::from_secs(60), ..scene.options.clone() };
    let refused = SeaOrmOutbox::open(&scene.url, options).await.expect_err("a refusal").to_string();
    assert!(refused.contains("step_retention is 1m"), "{refused}");
}
