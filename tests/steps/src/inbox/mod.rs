//! The inbox on real databases: effects once under redelivery, concurrent duplicates and crashes between effect and ack,
//! and what many sessions in the ledger at a time cost.
//! Promise: an effect in an inbox happens once, under duplicates, crashes and redelivery

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
use claimstream_domain::{Claimed, Lease, MessageId, NewMessage, Payload, step::StepResult};
use claimstream_ports::Transactions;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, store_error};
use claimstream_steps::inbox::{Consumer, Inbox, InboxError, InboxHandler, Once, StepError};
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use futures::{FutureExt, future::BoxFuture, future::join_all};
use sea_orm::{ConnectionTrait, DatabaseTransaction, Statement};
use uuid::Uuid;

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the inbox on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add_everywhere(suite, "sqlite", || SeaOrmBackend::sqlite("auto"));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        add_on(suite, server.name, &url);
        contention::add_to(suite, server.name, move || SeaOrmBackend::server(server.name, &url, "auto"));
    }
}

/// Adds the inbox on a server.
pub fn add_on(suite: &mut Suite, name: &'static str, url: &str) {
    let url = url.to_owned();
    add_everywhere(suite, name, move || SeaOrmBackend::server(name, &url, "auto"));
}

fn add_everywhere(
    suite: &mut Suite,
    name: &'static str,
    backend: impl Fn() -> SeaOrmBackend + Clone + Send + 'static,
) {
    let mut add = |what: &str, run: fn(Setup) -> BoxFuture<'static, ()>| {
        let backend = backend.clone();
        suite.add_async_test(&format!("{name}::inbox::{what}"), async move {
            let backend = backend();
            run(Setup::of(&backend).await).await;
        });
    };
    add("an_effect_is_had_once_however_many_have_the_message", |setup| Box::pin(parallel_duplicates(setup)));
    add("an_effect_is_had_once_though_its_message_comes_again_and_again", |setup| {
        Box::pin(comes_again(setup))
    });
    // Guard: the step is written before the effect | app/steps/src/inbox/once.rs: the effect first, then
    // `begin`, in one transaction
    add("a_crash_between_effect_and_ack_has_no_second_effect", |setup| Box::pin(crash_after_commit(setup)));
    // Guard: effect and step share a transaction | app/steps/src/inbox/handler.rs: the step is committed
    // first, the effect in a second transaction
    add("a_crash_before_the_commit_leaves_no_effect_and_no_step", |setup| {
        Box::pin(crash_before_commit(setup))
    });
    // Guard: a known id with another payload is refused | app/steps/src/inbox/once.rs: `Repeat::Conflict`
    // counts as a repeat
    add("a_known_id_with_another_payload_is_buried", |setup| Box::pin(conflict(setup)));
    add("an_effect_that_fails_leaves_nothing_and_may_be_had_later", |setup| Box::pin(failure(setup)));
    // Guard: the effect's answer is stored | app/steps/src/inbox/once.rs `keep`: no `advance`
    add("each_consumer_has_its_own_effect_and_repeats_its_answer", |setup| Box::pin(consumers(setup)));
    // Guard: a ledger that forgets too early is refused | app/steps/src/inbox/mod.rs: no `check_against`
    // Guard: a step is kept at least as long as its message may come | domain/src/step/step_retention.rs: the
    // horizon is 0
    // Guard: a retention below the horizon is refused | domain/src/step/step_retention.rs: `check` accepts
    // all
    add("a_ledger_that_forgets_too_soon_is_refused", |setup| Box::pin(forgetful(setup)));
}

/// An outbox in a database of its own, with a table of effects that takes every row it is given.
struct Setup {
    outbox: Arc<SeaOrmOutbox>,
    instance: Instance,
    url: String,
    options: OpenOptions,
}

impl Setup {
    async fn of(backend: &SeaOrmBackend) -> Self {
        let url = backend.database().await.expect("a database");
        let options = OpenOptions { max_connections: 20, ..backend.options() };
        let outbox = SeaOrmOutbox::open(&url, options.clone()).await.expect("open");
        let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 10);
        let table = "CREATE TABLE effect (id VARCHAR(36) PRIMARY KEY, message VARCHAR(64) NOT NULL)";
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
    for<'tx> fn(&'tx DatabaseTransaction, &'tx Claimed) -> BoxFuture<'tx, Result<StepResult, StepError>>;

fn write_effect<'tx>(
    tx: &'tx DatabaseTransaction,
    claimed: &'tx Claimed,
) -> BoxFuture<'tx, Result<StepResult, StepError>> {
    async move {
        let insert =
            format!("INSERT INTO effect VALUES ('{}', '{}')", uuid::Uuid::now_v7(), claimed.message.id);
        tx.execute_unprepared(&insert).await.map_err(|e| store_error("effect", e))?;
        Ok(StepResult::default())
    }
    .boxed()
}

fn billing() -> Consumer {
    Consumer::new("billing").expect("a consumer")
}

async fn parallel_duplicates(setup: Setup) {
    let claimed = setup.claimed(25).await;
    let handler = Arc::new(setup.handler());
    let duplicates = claimed.iter().flat_map(|claimed| (0..4).map(move |_| claimed.clone()));
    let handled = duplicates.map(|claimed| {
        let handler = Arc::clone(&handler);
        tokio::spawn(async move { handler.handle(&claimed).await })
    });
    for verdict in join_all(handled).await {
        assert_eq!(verdict.expect("a verdict"), Verdict::ack());
    }
    setup.each_once(25).await;
}

/// Two relays; every third try fails after its write, and its message comes again, perhaps to the other one.
async fn comes_again(setup: Setup) {
    let queue = setup.instance.queue().clone();
    let messages: Vec<_> = (0..60).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    setup.outbox.enqueue_now(&messages).await.expect("enqueue");
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
        let relay = Relay::new(setup.outbox.clone(), TokioTimer::new(), config.clone());
        let counted = Arc::clone(&tries);
        let handler = setup.inbox().handler(billing(), TokioTimer::new(), move |tx, claimed| {
            let tried = counted.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                let done = write_effect(tx, claimed).await?;
                match tried % 3 {
                    0 => Err(StepError::nack("as scripted")),
                    1 => {
                        tokio::time::sleep(Duration::from_millis(15)).await;
                        Ok(done)
                    }
                    _ => Ok(done),
                }
            })
        });
        let all = async {
            eventually("every effect is written", || async { setup.effects().await.len() == 60 }).await;
        };
        relay.pipeline(queue.clone(), handler).expect("a pipeline").run_until(all)
    });
    for report in join_all(runs).await {
        report.expect("a report");
    }
    setup.each_once(60).await;
    assert!(tries.load(Ordering::SeqCst) > 60, "nothing was tried twice");
}

async fn crash_after_commit(setup: Setup) {
    let claimed = setup.claimed(1).await;
    let handler = setup.handler();
    assert_eq!(handler.handle(&claimed[0]).await, Verdict::ack());
    // The verdict is never settled; the message comes again.
    setup.instance.nack(&claimed[0], Duration::ZERO, "the process died").await;
    let again = setup.instance.take_one().await;
    assert_eq!((again.message.id, again.attempt), (claimed[0].message.id, 2));
    assert_eq!(setup.handler().handle(&again).await, Verdict::ack());
    setup.each_once(1).await;
}

async fn crash_before_commit(setup: Setup) {
    let claimed = setup.claimed(1).await.remove(0);
    let (written, reached) = tokio::sync::oneshot::channel::<()>();
    let written = std::sync::Mutex::new(Some(written));
    let handler = setup.inbox().handler(billing(), TokioTimer::new(), move |tx, claimed| {
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
    assert!(setup.effects().await.is_empty());
    assert_eq!(setup.handler().handle(&claimed).await, Verdict::ack());
    setup.each_once(1).await;
}

async fn conflict(setup: Setup) {
    let mut claimed = setup.claimed(1).await.remove(0);
    let handler = setup.handler();
    assert_eq!(handler.handle(&claimed).await, Verdict::ack());
    claimed.message.payload = Payload::json("\"something else\"");
    let verdict = handler.handle(&claimed).await;
    let Verdict::Bury { reason } = verdict else { panic!("{verdict:?}") };
    assert!(reason.as_str().contains("billing has had a message"), "{reason}");
    setup.each_once(1).await;
}

async fn failure(setup: Setup) {
    let claimed = setup.claimed(1).await.remove(0);
    let failing = setup.inbox().handler(billing(), TokioTimer::new(), |tx, claimed| {
        Box::pin(async move {
            write_effect(tx, claimed).await?;
            Err(StepError::nack("the bank is closed"))
        })
    });
    assert_eq!(failing.handle(&claimed).await, Verdict::nack("the bank is closed"));
    assert!(setup.effects().await.is_empty());
    assert_eq!(setup.handler().handle(&claimed).await, Verdict::ack());
    setup.each_once(1).await;
}

async fn consumers(setup: Setup) {
    let message =
        NewMessage::new(MessageId::new(Uuid::now_v7()), setup.instance.queue().clone(), Payload::json("7"));
    setup.outbox.enqueue_now(&[message]).await.expect("enqueue");
    let claimed = setup.instance.take_one().await;
    let once = async |consumer: &str, answer: &'static [u8]| {
        let inbox = setup.inbox();
        let consumer = Consumer::new(consumer).expect("a consumer");
        let tx = setup.outbox.begin_tx().await.expect("begin");
        let done = inbox.once(&tx, &consumer, &claimed, |_| async {
            Ok::<_, InboxError>(StepResult::new(answer).expect("a result"))
        });
        let done = done.await.expect("an answer");
        setup.outbox.commit_tx(tx).await.expect("commit");
        done
    };
    let result = |answer: &[u8]| StepResult::new(answer).expect("a result");
    assert_eq!(once("billing", b"bill 1").await, Once::Done(result(b"bill 1")));
    assert_eq!(once("shipping", b"parcel 1").await, Once::Done(result(b"parcel 1")));
    assert_eq!(once("billing", b"bill 2").await, Once::Repeated(result(b"bill 1")));
}

async fn forgetful(setup: Setup) {
    let options = OpenOptions { step_retention: Duration::from_secs(3600), ..setup.options.clone() };
    let outbox = Arc::new(SeaOrmOutbox::open(&setup.url, options).await.expect("open"));
    let refused = Inbox::new(outbox, &RelayConfig::default()).expect_err("a refusal").to_string();
    assert!(refused.starts_with("step_retention is 1h, it must be longer than 5h"), "{refused}");
    let options = OpenOptions { step_retention: Duration::from_secs(60), ..setup.options.clone() };
    let refused = SeaOrmOutbox::open(&setup.url, options).await.expect_err("a refusal").to_string();
    assert!(refused.contains("step_retention is 1m"), "{refused}");
}
