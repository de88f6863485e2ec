//! The programs of docs/producers, each run by its own language with its own client, and a relay that reads what they write.
//! Promise: a relay receives what samples in Python, PHP, Java and Go write by INSERT and by CALL, once, in
//! the order of its key, with its headers, delay and dedup key

use std::{
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream::{Message, Relay, RelayConfig, Verdict, handler_fn};
use claimstream_domain::Pacing;
use claimstream_sea_orm::{OpenOptions, Order, SchemaExtra, SeaOrmOutbox};
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use tokio::process::Command;

use crate::{Server, Suite, backend::SeaOrmBackend};

/// The variable that lists the languages without which the suite must fail; `1` means all.
const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_LANGUAGES";

/// A language, the variable that says which program runs its files, and the file.
#[derive(Clone, Copy)]
struct Language {
    name: &'static str,
    variable: &'static str,
    file: &'static str,
}

const LANGUAGES: [Language; 4] = [
    Language { name: "python", variable: "CLAIMSTREAM_PYTHON", file: "producer.py" },
    Language { name: "php", variable: "CLAIMSTREAM_PHP", file: "producer.php" },
    Language { name: "java", variable: "CLAIMSTREAM_JAVA", file: "Producer.java" },
    Language { name: "go", variable: "CLAIMSTREAM_GO", file: "producer.go" },
];

/// A server of each kind: these programs are to show clients, and the routine is tested on all servers elsewhere.
const SERVERS: [&str; 2] = ["mariadb-10.11", "mysql-9.7"];

pub(super) fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let required = environment(REQUIRED).unwrap_or_default();
    let is_required = |name: &str| required.split([' ', ',']).any(|one| one == "1" || one == name);
    for language in LANGUAGES {
        let Some(runner) = environment(language.variable).filter(|runner| !runner.is_empty()) else {
            let why = format!("{} is not set; tests/languages fetch prints it", language.variable);
            let what = format!("producers::{}", language.name);
            match is_required(language.name) {
                true => suite.add_test(&what, move || panic!("{REQUIRED} asks for it, but {why}")),
                false => suite.add_not_run(&what, &why),
            }
            continue;
        };
        for server in Server::ALL.into_iter().filter(|server| SERVERS.contains(&server.name)) {
            let Some(url) = server.url(&environment) else { continue };
            for way in ["insert", "call"] {
                let backend = SeaOrmBackend::server(server.name, &url, "shard_lease");
                let runner = runner.clone();
                let name = format!(
                    "{}::producers::{}::what_it_writes_by_{way}_arrives_once",
                    server.name, language.name
                );
                suite.add_async_test(
                    &name,
                    async move { arrives_once(&backend, language, &runner, way).await },
                );
            }
        }
    }
}

async fn arrives_once(backend: &SeaOrmBackend, language: Language, runner: &str, way: &str) {
    let url = backend.database().await.expect("a database");
    let options = OpenOptions { order: Order::PerKey, ..backend.options() };
    let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
    outbox.make_extra(SchemaExtra::EnqueueRoutine).await.expect("the routine");
    let db = outbox.connection();
    db.execute_unprepared("CREATE TABLE orders (id INT PRIMARY KEY) ENGINE = InnoDB").await.expect("a table");

    let said = run(language, runner, &url, way).await;
    let new = [1, 2, 3, 4, 5, 6, 7].map(|n| format!("new {n}"));
    let then = ["taken 8", "new 9", "new 10", "new 11"].map(str::to_owned);
    assert_eq!(said, [&new[..], &then].concat());
    let numbers = |sql: &'static str| async move {
        let rows = db.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await.expect(sql);
        rows.iter().map(|row| row.try_get_by_index::<i64>(0).expect("a number")).collect::<Vec<_>>()
    };
    let orders = numbers("SELECT CAST(id AS SIGNED) FROM orders ORDER BY id").await;
    assert_eq!(orders, [1, 2, 3, 4, 5, 6, 7, 8, 9, 11], "the tenth was rolled back");
    let delays = "SELECT TIMESTAMPDIFF(MICROSECOND, m.created_at, q.available_at) DIV 100000
                    FROM claimstream_queue q JOIN claimstream_message m ON m.id = q.id ORDER BY m.payload";
    // The two rows of a message have moments of their own; a busy server takes a while between them.
    assert!(matches!(numbers(delays).await[..], [0..5, 0..5, 0..5, 0..5, 0..5, 0..5, 0..5, 0..5, 15..20]));

    let arrived = relay(outbox).await;
    let number = |message: &Message| {
        serde_json::from_slice::<serde_json::Value>(message.payload.bytes()).expect("JSON")["order"]
            .as_u64()
            .expect("a number")
    };
    let of_key = |key: &str| {
        let is_of = |message: &&Message| message.ordering_key.as_ref().is_some_and(|one| one.as_str() == key);
        arrived.iter().filter(is_of).map(number).collect::<Vec<_>>()
    };
    assert_eq!((of_key("Kunde 1 €"), of_key("Kunde 0 €")), (vec![1, 3, 5], vec![2, 4, 6]), "in order");
    let mut all: Vec<_> = arrived.iter().map(number).collect();
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3, 4, 5, 6, 7, 9, 11], "each once");
    for message in &arrived {
        let payload: serde_json::Value = serde_json::from_slice(message.payload.bytes()).expect("JSON");
        assert_eq!(
            (payload["by"].as_str(), message.payload.content_type()),
            (Some("Grün & Söhne"), "application/json")
        );
        assert_eq!(message.id.uuid().get_version_num(), 7);
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let expected = if message.ordering_key.is_some() {
            vec![("traceparent", trace), ("x-shop", "Köln")]
        } else {
            vec![]
        };
        assert_eq!(message.headers.iter().collect::<Vec<_>>(), expected);
    }
}

/// The lines that a program prints.
async fn run(language: Language, runner: &str, url: &str, way: &str) -> Vec<String> {
    let file = format!("{}/../../docs/producers/{}", env!("CARGO_MANIFEST_DIR"), language.file);
    let (address, _) = url.split_once('?').unwrap_or((url, ""));
    let (place, database) = address.trim_start_matches("mysql://").rsplit_once('/').expect("a database");
    let (who, place) = place.split_once('@').expect("a user");
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    let (host, port) = place.split_once(':').expect("a port");
    let mut command = Command::new(runner);
    command.args([&file, host, port, user, password, database, way]).stdin(Stdio::null()).kill_on_drop(true);
    let ended = command.output().await.expect("it starts");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
    said.lines().map(str::to_owned).collect()
}

/// What a relay is handed until it has been handed nine messages, and for a moment longer.
async fn relay(outbox: SeaOrmOutbox) -> Vec<Message> {
    let arrived = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&arrived);
    let handler = handler_fn(move |claimed| {
        keep.lock().unwrap_or_else(PoisonError::into_inner).push(claimed.message);
        async { Verdict::ack() }
    });
    let pacing = Pacing { idle_max: Duration::from_millis(200), ..Pacing::default() };
    let relay =
        Relay::new(Arc::new(outbox), TokioTimer::new(), RelayConfig { pacing, ..RelayConfig::default() });
    let all_are_here = async {
        eventually("nine messages are here", || async {
            arrived.lock().unwrap_or_else(PoisonError::into_inner).len() >= 9
        })
        .await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    relay.pipeline("orders", handler).expect("a pipeline").run_until(all_are_here).await.expect("a relay");
    arrived.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
