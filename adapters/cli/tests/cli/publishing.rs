//! Promise: `relay --publish` has no more messages in hand than `relay.process_concurrency`; targets of one
//! queue do not wait for each other, and a queue is published by configuration alone

use std::{
    collections::BTreeMap,
    ops::Range,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{Compose, NewMessage};
use claimstream_cli::{
    PublishRelay,
    config::{self, Sources},
};
use claimstream_ports::{Measured, Telemetry, Timer};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::{PrivateBroker, eventually, known_broker};
use claimstream_tokio::TokioTimer;

use crate::{
    database_server::{Scratch, servers},
    nats_stream::Stream,
    operator::{Operator, Running},
};

#[test]
fn a_relay_that_nothing_says_what_to_publish_says_so() {
    let operator = Operator::with_database();
    let refused = operator.run(&["relay", "--publish"]).failed(2);
    assert!(refused.contains("add a section [publish.NAME] with a queue and to"), "{refused}");
    operator.write("claimstream.toml", "[publish.orders]\nto = 'nats://app:hunter2@127.0.0.1:1'\n");
    let refused = operator.run(&["relay", "--publish=audit"]).failed(2);
    assert!(refused.contains("there is no section [publish.audit]; there are orders"), "{refused}");
    let refused = operator.run(&["relay", "--publish", "--set", "publish.orders.place={tenant}"]).failed(2);
    assert!(refused.contains("a place is {queue}, {key}, {id} or {header:NAME}"), "{refused}");
    let refused = operator.run(&["relay", "--publish", "--set", "publish.orders.to=mqtt://broker"]).failed(2);
    assert!(refused.contains("`publish.orders.to`: no broker of this program has the scheme"), "{refused}");
    let printed = operator.run(&["config", "print"]).succeeded();
    assert!(printed.contains("nats://***@127.0.0.1:1") && !printed.contains("hunter2"), "{printed}");
    let examined = operator.run(&["doctor"]);
    assert!(examined.out.contains("orders: nats://127.0.0.1:1 cannot be reached"), "{examined:?}");
    assert!(examined.code == Some(1) && !format!("{examined:?}").contains("hunter2"), "{examined:?}");
}

/// One of the databases has a message of a queue whose broker is away, and one of them does not answer.
/// Promise: one `relay --publish` publishes the queues of several databases, also while one does not answer,
/// and `doctor` names a subject that no stream stores
#[tokio::test(flavor = "multi_thread")]
async fn queues_of_several_databases_are_published_by_one_process() {
    let Some(url) = known_broker("nats", "publishing from several databases") else { return };
    let stream = Stream::on(&url).await;
    let (operator, name) = (Operator::new(), &stream.name);
    let section = |name: &str| format!("[databases.{name}]\nurl = 'sqlite://{name}.db'\n");
    let targets = format!(
        "[relay]\nidle_max = '50ms'\n[publish.default]\nto = '{url}'\n[publish.orders]\nplace = '{name}'\n\
         [publish.away]\nto = 'nats://127.0.0.1:1'\n"
    );
    operator.write("claimstream.toml", format!("{}{}{targets}", section("shop"), section("billing")));
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    let refused = operator.run(&["relay", "--publish=audit"]).failed(2);
    assert!(refused.contains("there is no section [publish.audit]"), "{refused}");
    let examined =
        operator.run(&["doctor", "--database", "shop", "--set", "publish.orders.place=nowhere.{queue}"]);
    assert!(examined.out.contains("orders: no stream takes the subject nowhere.orders"), "{examined:?}");
    let mut written = Vec::new();
    for (database, numbers) in [("shop", 0..3), ("billing", 3..5)] {
        let file = format!("sqlite://{}", operator.path(&format!("{database}.db")).display());
        let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
        let orders: Vec<_> = numbers.map(|number| message("orders", number, None)).collect();
        written.extend(orders.iter().map(|order| order.id.to_string()));
        outbox.enqueue_now(&orders).await.unwrap();
    }
    let published = operator.run(&["relay", "--publish", "--until-empty"]).succeeded();
    assert!(published.is_empty(), "{published}");
    let mut held: Vec<_> = stream.held().await.into_iter().map(|it| it.id).collect();
    held.sort();
    written.sort();
    assert_eq!(held, written);

    let file = format!("sqlite://{}", operator.path("billing.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    outbox.enqueue_now(&[message("away", 9, None)]).await.unwrap();
    let gone = section("gone").replace("sqlite://gone.db", "mysql://app:hunter2@127.0.0.1:1/gone");
    operator.write("claimstream.toml", format!("{}{gone}{targets}", section("billing")));
    let left = operator.run(&["relay", "--publish", "--until-empty"]).failed(1);
    assert!(left.contains("messages were not published, because the broker confirms nothing"), "{left}");
    assert!(left.contains("database=gone") && !left.contains("hunter2"), "{left}");
}

/// More messages than are in hand at a time, so that some are due at every look.
/// Promise: `relay --publish --until-empty` ends with 1 if a broker that is away has not accepted all, and
/// `doctor` names copies that no section publishes
#[tokio::test(flavor = "multi_thread")]
async fn a_run_until_empty_ends_with_one_while_a_broker_is_away_and_doctor_names_copies_that_are_left() {
    let operator = Operator::with_database();
    let away = |names: &[&str]| {
        let target = |name: &&str| format!("[publish.{name}]\nto = 'nats://127.0.0.1:1'\nqueue = 'orders'\n");
        operator.write("claimstream.toml", names.iter().map(target).collect::<String>());
    };
    away(&["main", "audit"]);
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    let messages: Vec<_> = (0..40).map(|number| message("orders", number, None)).collect();
    outbox.enqueue_now(&messages).await.unwrap();
    let run = [
        "relay",
        "--publish",
        "--until-empty",
        "--set",
        "relay.prefetch=20",
        "--set",
        "relay.concurrency=10",
    ];
    let left = operator.run(&run).failed(1);
    assert!(left.contains("messages were not published, because the broker confirms nothing"), "{left}");
    assert!(left.contains("orders.main") && left.contains("orders.audit"), "{left}");
    assert!(!operator.run(&["doctor"]).out.contains("no target publishes copies"));
    away(&["main"]);
    let examined = operator.run(&["doctor"]).out;
    for queue in ["orders.main", "orders.audit"] {
        let warning =
            format!("the queue {queue} holds 40 messages, and no target publishes copies of orders");
        assert!(examined.contains(&warning), "{examined}");
    }
}

/// When each handler that has ended began and ended.
#[derive(Debug)]
struct Handled {
    timer: TokioTimer,
    spans: Mutex<Vec<Range<Duration>>>,
}

impl Telemetry for Handled {
    fn record(&self, measured: Measured<'_>) {
        if let Measured::Handled { took, .. } = measured {
            let now = self.timer.now();
            self.spans.lock().unwrap().push(now.saturating_sub(took)..now);
        }
    }
}

impl Handled {
    fn count(&self) -> usize {
        self.spans.lock().unwrap().len()
    }

    /// The most handlers that ran at the same time.
    fn most_at_once(&self) -> usize {
        let spans = self.spans.lock().unwrap();
        let overlapping = |begun| spans.iter().filter(|other| other.contains(begun)).count();
        spans.iter().map(|span| overlapping(&span.start)).max().unwrap_or_default()
    }
}

/// The handlers of two queues whose broker is away: a call ends after ten seconds, so the fourth proves that a place was free again.
#[tokio::test(flavor = "multi_thread")]
async fn no_more_messages_are_in_hand_than_the_process_may_have() {
    let operator = Operator::with_database();
    let target = |name| format!("[publish.{name}]\nto = 'nats://127.0.0.1:1'\n");
    let limits = "[relay]\nprocess_concurrency = 3\n";
    let text = format!("{limits}{}{}", target("a"), target("b"));
    operator.write("claimstream.toml", text);
    let sources = Sources { file: Some(operator.path("claimstream.toml")), ..Sources::default() };
    let config = config::Config::load(&sources).unwrap().config;
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    let messages: Vec<_> =
        (0..20).flat_map(|number| ["a", "b"].map(|queue| message(queue, number, None))).collect();
    outbox.enqueue_now(&messages).await.unwrap();
    let handled = Arc::new(Handled { timer: TokioTimer::new(), spans: Mutex::default() });
    let relay = PublishRelay::new(&[], Some(handled.clone()), outbox, &config).unwrap();
    let several = eventually("a handler of the second wave has ended", async || handled.count() > 3);
    relay.run_until(several).await.unwrap();
    assert_eq!(handled.most_at_once(), 3, "{handled:?}");
}

/// Two targets of one queue, of which one has no broker.
/// Guard: a stream that stores the copies of two targets keeps both | adapters/brokers/src/nats/wire.rs
/// `repetition_id`: the id alone
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_published_by_configuration_alone_and_targets_do_not_wait_for_each_other() {
    let what = "publishing a queue with the program";
    let Some(url) = known_broker("nats", what) else { return };
    let stream = Stream::on(&url).await;
    let operator = Operator::with_database();
    let name = &stream.name;
    operator.write(
        "claimstream.toml",
        format!(
            "[publish.default]\nto = '{url}'\n[publish.main]\nqueue = 'orders'\nplace = '{name}.{{header:region}}'\n\
             type = 'paid'\n[publish.audit]\nqueue = 'orders'\nplace = '{name}.audit'\n[publish.away]\nqueue = 'orders'\nto = 'nats://127.0.0.1:1'\n[publish.single]\n\
             place = '{name}'\nevents = 'structured'\n"
        ),
    );
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    let mut order = message("orders", 7, Some("account-7"));
    order.headers.insert("region", "eu").unwrap();
    let without_region = message("orders", 8, None);
    let single = message("single", 9, None);
    outbox.enqueue_now(&[order.clone(), without_region.clone(), single.clone()]).await.unwrap();
    let relay = operator.run(&["relay", "--publish", "--once", "--set", "relay.idle_max=50ms"]);
    assert!(
        relay.err.contains("the broker confirms nothing; messages wait and lose no attempt"),
        "{relay:?}"
    );
    let left = relay.failed(1);
    assert!(left.contains("messages were not published, because the broker confirms nothing"), "{left}");
    assert_eq!(left.matches("messages were not published").count(), 1, "{left}");
    let held = stream.held().await;
    // One stream takes the copies of two targets, and knows none of them for a repetition.
    assert_eq!(held.len(), 4, "{held:?}");
    let of = |subject: &str| held.iter().find(|message| message.subject == subject).unwrap();
    let published = of(&format!("{name}.eu"));
    assert_eq!(published.id, order.id.to_string());
    let audited: Vec<_> = held.iter().filter(|message| message.subject == format!("{name}.audit")).collect();
    assert!(
        audited.len() == 2 && audited.iter().any(|message| message.id == order.id.to_string()),
        "{held:?}"
    );
    assert_eq!(published.body, "7");
    let attributes = ["ce-type", "ce-source", "ce-partitionkey"].map(|name| published.headers[name].as_str());
    assert_eq!(attributes, ["paid", "/claimstream/orders", "account-7"]);
    let event: serde_json::Value = serde_json::from_str(&of(name).body).unwrap();
    assert_eq!(of(name).id, single.id.to_string());
    assert_eq!((&event["type"], &event["data"]), (&"single".into(), &9.into()));
    let dead = operator.run(&["dead", "list"]).succeeded();
    assert!(dead.contains("no header \"region\"") && dead.contains("orders.main"), "{dead}");
    let status = operator.run(&["status", "--json"]).succeeded();
    assert!(status.contains("orders.away"), "{status}");
    let messages: serde_json::Value = serde_json::from_str(&status).unwrap();
    let away =
        messages["queues"].as_array().unwrap().iter().find(|queue| queue["queue"] == "orders.away").unwrap();
    assert_eq!((&away["depth"], &away["dead"]), (&2.into(), &0.into()), "{status}");
}

/// The broker and the relays are killed under load.
/// Promise: kills of the broker and of relays in turn, with the program on MariaDB, lose nothing, bury
/// nothing and keep the order of keys
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: kills"]
async fn kills_of_the_broker_and_of_relays_lose_nothing_and_keep_the_order_of_keys() {
    let what = "kills of NATS and of relays";
    let Some((_, url)) = servers(what).into_iter().find(|(server, _)| server.name() == "mariadb-10.11")
    else {
        return;
    };
    let Some(broker) = PrivateBroker::start_if_known("nats", what) else { return };
    let (scratch, stream) = (Scratch::on(url).await, Stream::on(broker.url()).await);
    let operator = Operator::at(&scratch.url());
    operator.write(
        "claimstream.toml",
        format!(
            "[database]\nstrategy = 'shard_lease'\norder = 'per_key'\n[relay]\nlease = '2s'\nidle_max = '50ms'\n\
             [publish.orders]\nto = '{}'\nplace = '{}'\n",
            broker.url(),
            stream.name
        ),
    );
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    let options = OpenOptions {
        strategy: "shard_lease".parse().unwrap(),
        order: "per_key".parse().unwrap(),
        ..OpenOptions::default()
    };
    let outbox = SeaOrmOutbox::open(&scratch.url(), options).await.unwrap();
    let relay = || {
        let mut command = operator.command(&["relay", "--publish"]);
        Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let mut relays = [relay(), relay()];
    let mut written: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for round in 0..ROUNDS {
        for _ in 0..EACH / 100 {
            let batch: Vec<NewMessage> = (0..100)
                .map(|number| message("orders", number, Some(&format!("account-{}", number % KEYS))))
                .collect();
            for message in &batch {
                let key = message.ordering_key.as_ref().unwrap().to_string();
                written.entry(key).or_default().push(message.id.to_string());
            }
            outbox.enqueue_now(&batch).await.unwrap();
        }
        tokio::task::block_in_place(|| match round % 2 {
            0 => {
                broker.kill();
                std::thread::sleep(Duration::from_millis(300));
                broker.start_again();
            }
            _ => relays[round / 2 % 2] = relay(),
        });
    }
    let many = ROUNDS * EACH;
    let remaining = "SELECT COUNT(*) FROM claimstream_queue";
    eventually("nothing is left", async || scratch.count(remaining).await == 0).await;
    let held = stream.held().await;
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for message in &held {
        if seen.insert(message.id.clone()) {
            by_key.entry(message.headers["claimstream-key"].clone()).or_default().push(message.id.clone());
        }
    }
    assert_eq!(seen.len(), many, "{} are lost", many - seen.len());
    assert_eq!(by_key, written);
    assert_eq!(scratch.count("SELECT COUNT(*) FROM claimstream_dead").await, 0);
    let doubled = held.len() - many;
    println!(
        "{ROUNDS} kills of the broker and of relays in turn: {many} messages, 0 lost, {doubled} doubled"
    );
}

const ROUNDS: usize = 8;
/// Messages that are written before each kill.
const EACH: usize = 1_000;
const KEYS: usize = 50;

fn message(queue: &str, number: usize, key: Option<&str>) -> NewMessage {
    let message = NewMessage::json(queue, &number).unwrap();
    match key {
        Some(key) => message.ordered_by(key.parse().unwrap()),
        None => message,
    }
}
