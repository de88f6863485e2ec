//! From a program in another language to a broker: it inserts rows, the program of the relay publishes them, and a consumer reads them.
//! Promise: the program publishes what these samples write on MariaDB and MySQL to NATS once, in the order of
//! its key, with its headers, key and body

use std::{
    io::Write,
    process::{Command, Stdio},
};

use claimstream_brokers::nats::{NatsConfig, NatsConsumer};
use claimstream_domain::Received;
use claimstream_ports::Consume;
use claimstream_testbed::known_broker;
use tokio::time::timeout;

use crate::{
    database_server::{Scratch, servers},
    nats_stream::Stream,
    operator::{Operator, Running, STUCK, eventually},
};

/// The servers that the samples are tried on.
const SERVERS: [&str; 2] = ["mariadb-10.11", "mysql-9.7"];
/// The variable that lists the languages without which the tests must fail; `1` means all.
const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_LANGUAGES";
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// The orders that a sample commits with a message of their own: the eighth has a dedup key that is taken, the tenth is rolled back.
const PUBLISHED: [u64; 9] = [1, 2, 3, 4, 5, 6, 7, 9, 11];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: languages"]
async fn what_python_writes_is_published_once_in_the_order_of_its_key() {
    published("python", "producer.py").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: languages"]
async fn what_php_writes_is_published_once_in_the_order_of_its_key() {
    published("php", "producer.php").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: languages"]
async fn what_java_writes_is_published_once_in_the_order_of_its_key() {
    published("java", "Producer.java").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: languages"]
async fn what_go_writes_is_published_once_in_the_order_of_its_key() {
    published("go", "producer.go").await;
}

async fn published(language: &str, file: &str) {
    let what = format!("publishing what {language} writes");
    let (Some(runner), Some(broker)) = (runner(language, &what), known_broker("nats", &what)) else { return };
    let here = servers(&what).into_iter().filter(|(server, _)| SERVERS.contains(&server.name()));
    for (server, url) in here {
        for way in ["insert", "call"] {
            let scratch = Scratch::on(url.clone()).await;
            let received = course(&scratch, &broker, |url| write(&runner, file, url, way)).await;
            check(&received);
            println!("{what} by {way} on {}: {} messages", server.name(), received.len());
        }
    }
}

/// The program that runs a file of the language, if there is one here.
fn runner(language: &str, what: &str) -> Option<String> {
    let variable = format!("CLAIMSTREAM_{}", language.to_uppercase());
    let runner = std::env::var(&variable).ok().filter(|runner| !runner.is_empty());
    if runner.is_none() {
        let required = std::env::var(REQUIRED).unwrap_or_default();
        let is_required = required.split([' ', ',']).any(|listed| listed == "1" || listed == language);
        assert!(!is_required, "{REQUIRED} asks for {language}, but {variable} is not set");
        let why = format!("skipped: {what}, because {variable} is not set; tests/languages fetch prints it");
        let _ = writeln!(std::io::stderr(), "{why}");
    }
    runner
}

/// What the broker gives while the program of the relay publishes what `write` writes, and for a moment longer.
async fn course(scratch: &Scratch, broker: &str, write: impl FnOnce(&str)) -> Vec<Received> {
    let stream = Stream::on(broker).await;
    let operator = Operator::at(&scratch.url());
    operator.write(
        "claimstream.toml",
        format!(
            "[database]\nstrategy = 'shard_lease'\norder = 'per_key'\n[relay]\nidle_max = '50ms'\n\
             [publish.orders]\nto = '{broker}'\nplace = '{}.orders'\ntype = 'order placed'\n",
            stream.name
        ),
    );
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    operator.run(&["schema", "routines", "--apply"]).succeeded();
    scratch
        .run(&format!("CREATE TABLE {}.orders (id INT PRIMARY KEY) ENGINE = InnoDB", scratch.name()))
        .await;
    let mut relay = operator.command(&["relay", "--publish"]);
    let _relay = Running(relay.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    tokio::task::block_in_place(|| write(&scratch.url()));
    let consumer = NatsConsumer::new(NatsConfig::new(broker).unwrap(), &stream.name, "shipping");
    let mut received = Vec::new();
    while received.len() < PUBLISHED.len() {
        let delivery = timeout(STUCK, consumer.next()).await.expect("a further message").unwrap();
        received.push(delivery.received.clone());
        delivery.finish().await.unwrap();
    }
    eventually("nothing is left to publish", || {
        operator.run(&["status"]).succeeded() == "all queues are empty\n"
    });
    assert_eq!(stream.held().await.len(), PUBLISHED.len(), "something came twice");
    received
}

/// Runs the sample, which says what it has written.
fn write(runner: &str, file: &str, url: &str, way: &str) {
    let file = format!("{}/../../docs/producers/{file}", env!("CARGO_MANIFEST_DIR"));
    let (address, _) = url.split_once('?').unwrap_or((url, ""));
    let (place, database) = address.trim_start_matches("mysql://").rsplit_once('/').unwrap();
    let (who, place) = place.split_once('@').unwrap();
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    let (host, port) = place.split_once(':').unwrap();
    let mut command = Command::new(runner);
    let ended =
        command.args([&file, host, port, user, password, database, way]).stdin(Stdio::null()).output();
    let ended = ended.unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
    let written = |number: &u64| said.lines().any(|line| line == format!("new {number}"));
    assert!(PUBLISHED.iter().all(written) && said.contains("taken 8"), "{said}");
}

fn check(received: &[Received]) {
    let number = |received: &Received| body(received)["order"].as_u64().unwrap();
    let of_key = |key: &str| {
        let is_of = |received: &&Received| received.key.as_ref().is_some_and(|it| it.as_str() == key);
        received.iter().filter(is_of).map(number).collect::<Vec<_>>()
    };
    assert_eq!((of_key("Kunde 1 €"), of_key("Kunde 0 €")), (vec![1, 3, 5], vec![2, 4, 6]), "in order");
    let mut numbers: Vec<_> = received.iter().map(number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, PUBLISHED, "each once");
    for one in received {
        assert_eq!(
            (body(one)["by"].as_str(), one.body.content_type()),
            (Some("Grün & Söhne"), "application/json")
        );
        let id: uuid::Uuid = one.id.parse().unwrap();
        assert_eq!(id.get_version_num(), 7);
        let expected = match one.key {
            Some(_) => vec![("traceparent", TRACE), ("x-shop", "Köln")],
            None => vec![],
        };
        assert_eq!(one.headers.iter().collect::<Vec<_>>(), expected);
        let attribute = |wanted: &str| {
            let found = one.attributes.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(attribute("type"), Some("order placed"));
        assert_eq!(attribute("source"), Some("/claimstream/orders"));
        assert_eq!(attribute("partitionkey"), one.key.as_ref().map(|key| key.as_str()));
    }
}

fn body(received: &Received) -> serde_json::Value {
    serde_json::from_slice(received.body.bytes()).unwrap()
}
