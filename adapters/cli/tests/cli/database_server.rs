//! Promise: a server that refuses connections or is silent is reported with its reason within two seconds,
//! and a wrong password at once

use std::{io::Write, process::Stdio};

use claimstream_cli::config::DatabaseUrl;
use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};
use uuid::Uuid;

use crate::{
    operator::{Operator, Running, eventually, id, request},
    server::free_address,
};

#[tokio::test]
async fn is_operated_like_a_file() {
    for (_, url) in servers("is_operated_like_a_file") {
        operate(&Scratch::on(url).await).await;
    }
}

#[tokio::test]
async fn is_relayed_from_under_every_strategy_with_one_word_changed() {
    for (server, url) in servers("is_relayed_from_under_every_strategy_with_one_word_changed") {
        for word in ["auto", "preemptive_update", "skip_locked", "shard_lease", "lock_guarded"] {
            let scratch = Scratch::on(url.clone()).await;
            match word == "skip_locked" && !server.skips_locked {
                true => is_refused_by_name(&scratch, word),
                false => is_relayed_once(&scratch, word),
            }
            let locks =
                scratch.count("SELECT COUNT(*) FROM claimstream_lock WHERE lock_key LIKE 'claim/%'").await;
            assert_eq!(locks > 0, word == "lock_guarded", "{word} has taken {locks} locks");
        }
    }
}

/// A pool that goes on asking until it may wait no longer would ask for an hour; `latency.rs` measures how soon a command ends.
const FOR_AN_HOUR: [&str; 2] = ["--set", "database.acquire_timeout=1h"];

#[test]
fn a_server_that_refuses_is_named_with_its_reason_and_is_not_asked_until_the_timeout() {
    let port = free_address().port();
    let operator =
        Operator::new().set("CLAIMSTREAM_DATABASE__URL", &format!("mysql://me:secret@127.0.0.1:{port}/shop"));
    let names_the_reason = |more: &[&str]| {
        let refused = operator.run(&[&["status"], more].concat()).failed(1);
        assert!(!refused.contains("secret") && !refused.contains("pool timed out"), "{refused}");
        refused.contains(&format!("no connection to 127.0.0.1:{port}: Connection refused"))
    };
    assert!(names_the_reason(&FOR_AN_HOUR));
    // On a machine that stops meanwhile the two seconds are over first.
    eventually("the reason is named within two seconds", || names_the_reason(&[]));
}

/// As a firewall that swallows packets, or a server that hangs: the connection is made, and the server says nothing.
/// Guard: a command waits two seconds for a server's greeting | adapters/sea-orm/src/database/connecting.rs
/// `unless_unreachable`: `silent` waits for ever
#[test]
fn a_server_that_is_silent_is_named_with_the_time_that_it_had() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = format!("mysql://me:secret@127.0.0.1:{port}/shop");
    let operator = Operator::new().set("CLAIMSTREAM_DATABASE__URL", &url);
    for command in [&["status"][..], &["schema", "plan"], &["notify", "-"]] {
        let refused = operator.run(command).failed(1);
        let said = format!("no connection to 127.0.0.1:{port}: it does not answer within 1.9s");
        assert!(refused.contains(&said) && refused.contains("acquire_timeout"), "{refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
    let refused = operator.run(&["status", "--set", "database.acquire_timeout=3s"]).failed(1);
    assert!(refused.contains("within 3s"), "{refused}");
}

#[test]
fn a_wrong_password_is_said_in_the_words_of_the_server_and_not_tried_until_the_timeout() {
    for (_, url) in servers("a_wrong_password_is_said_in_the_words_of_the_server") {
        let operator = Operator::new().set("CLAIMSTREAM_DATABASE__URL", &url);
        let wrong = ["status", "--set", "database.password=wrong-hunter2"];
        let is_said = |more: &[&str]| {
            let refused = operator.run(&[&wrong, more].concat()).failed(1);
            assert!(!refused.contains("hunter2"), "{refused}");
            // The newest MySQL wants TLS before it looks at a password, and says that.
            let in_its_words = refused.contains("Access denied") && refused.contains("check the user");
            in_its_words || refused.contains("takes this password over TLS only")
        };
        assert!(is_said(&FOR_AN_HOUR));
        eventually("it is said within two seconds", || is_said(&[]));
    }
}

/// The password is changed on the server, its connections are closed, and its file is written, in this order.
/// Guard: a database's password that was changed is taken from its file | adapters/cli/src/open.rs `open_to_run`: follows no file
#[tokio::test(flavor = "multi_thread")]
async fn a_relay_goes_on_after_the_password_in_its_file_was_changed() {
    let servers = servers("a_relay_goes_on_after_the_password_in_its_file_was_changed");
    // The newest of each family: the file is read every five seconds of real time.
    for (_, url) in servers.into_iter().filter(|(server, _)| !server.name().starts_with("mariadb-10")) {
        let scratch = Scratch::on(url).await;
        let user = format!("app_{}", &scratch.name()[scratch.name().len() - 12..]);
        scratch.run(&format!("CREATE USER '{user}'@'%' IDENTIFIED BY 'old'")).await;
        scratch.run(&format!("GRANT ALL ON *.* TO '{user}'@'%'")).await;
        let writer = configured(&scratch, "auto");
        writer.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
        let url = scratch.url().replace("ssl-mode=disabled", "ssl-mode=preferred");
        let (_, address) = url.split_once('@').expect("a user");
        let url = format!("mysql://{user}@{address}");
        writer.write("password", "old");
        let file = writer.path("password").display().to_string();
        let mut relay = writer.command(&["relay", "--set", &format!("database.password_file={file}")]);
        relay.env("CLAIMSTREAM_DATABASE__URL", &url).stdout(Stdio::null()).stderr(Stdio::null());
        let relay = Running(relay.spawn().unwrap());
        let sent = |number| {
            let request = request(number, "\"email\"") + "\n";
            writer.run_with(&["notify", "-"], request.as_bytes()).succeeded();
            eventually("it is delivered", || {
                std::fs::read_to_string(writer.path("out.jsonl"))
                    .is_ok_and(|lines| lines.lines().count() as u32 == number)
            });
        };
        tokio::task::block_in_place(|| sent(1));
        scratch.run(&format!("ALTER USER '{user}'@'%' IDENTIFIED BY 'new'")).await;
        let ids =
            format!("SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE user = '{user}'");
        let killer = Database::connect(scratch.url()).await.unwrap();
        for connection in scratch.text(&ids).await.expect("its connections").split(',') {
            // It may have ended by itself.
            killer.execute_unprepared(&format!("KILL {connection}")).await.ok();
        }
        killer.close().await.unwrap();
        writer.write("password", "new");
        tokio::task::block_in_place(|| sent(2));
        drop(relay);
        scratch.run(&format!("DROP USER '{user}'@'%'")).await;
    }
}

/// A server to test with, where its URL stands, and whether it steps over locked rows.
pub(crate) struct Server {
    name: &'static str,
    variable: &'static str,
    skips_locked: bool,
}

impl Server {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

const SERVERS: [Server; 4] = [
    Server { name: "mariadb-10.5", variable: "CLAIMSTREAM_MARIADB_10_5_URL", skips_locked: false },
    Server { name: "mariadb-10.11", variable: "CLAIMSTREAM_MARIADB_10_11_URL", skips_locked: true },
    Server { name: "mariadb-11.8", variable: "CLAIMSTREAM_MARIADB_11_8_URL", skips_locked: true },
    Server { name: "mysql-9.7", variable: "CLAIMSTREAM_MYSQL_9_7_URL", skips_locked: true },
];

/// The variable that lists the servers without which a test must fail; `1` means all.
const REQUIRED: &str = "CLAIMSTREAM_REQUIRE_SERVERS";

/// The servers that have a URL. The output names those that have none; one that is required fails the test.
pub(crate) fn servers(test: &str) -> Vec<(Server, String)> {
    let required = std::env::var(REQUIRED).unwrap_or_default();
    let (mut present, mut missing) = (Vec::new(), Vec::new());
    for server in SERVERS {
        match std::env::var(server.variable) {
            Ok(url) if !url.is_empty() => present.push((server, url)),
            _ => missing.push(server),
        }
    }
    for Server { name, variable, .. } in missing {
        assert!(!is_in(name, &required), "{REQUIRED} asks for {name}, but {variable} is not set");
        // Past the capture of a test's output, which would hide it as long as all is well.
        let _ = writeln!(std::io::stderr(), "{test} was not run on {name}: {variable} is not set");
    }
    present
}

fn is_in(name: &str, list: &str) -> bool {
    list.split([' ', ',', '\n', '\t']).any(|listed| listed == "1" || listed == name)
}

/// A database of its own on a server, as long as it is held.
pub(crate) struct Scratch {
    server: String,
    name: String,
}

impl Scratch {
    pub(crate) async fn on(server: String) -> Self {
        let name = format!("claimstream_cli_{}", Uuid::now_v7().simple());
        run(&server, &format!("CREATE DATABASE {name}")).await;
        Self { server, name }
    }

    pub(crate) fn url(&self) -> String {
        let (address, parameters) = self.server.split_once('?').unwrap_or((&self.server, "charset=utf8mb4"));
        let host = address.rsplit_once('/').map_or(address, |(host, _)| host);
        format!("{host}/{}?{parameters}", self.name)
    }

    /// Carries a statement out as the user of the server, outside the database.
    pub(crate) async fn run(&self, statement: &str) {
        run(&self.server, statement).await;
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The text that a query answers first, if it answers.
    pub(crate) async fn text(&self, query: &str) -> Option<String> {
        let database = Database::connect(self.url()).await.unwrap();
        let row = database.query_one_raw(Statement::from_string(DbBackend::MySql, query)).await.unwrap();
        database.close().await.unwrap();
        row.map(|row| row.try_get_by_index(0).unwrap())
    }

    pub(crate) async fn count(&self, query: &str) -> i64 {
        let database = Database::connect(self.url()).await.unwrap();
        let row = database.query_one_raw(Statement::from_string(DbBackend::MySql, query)).await.unwrap();
        let count = row.expect("a row").try_get_by_index(0).unwrap();
        database.close().await.unwrap();
        count
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (server, drop) = (self.server.clone(), format!("DROP DATABASE {}", self.name));
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // On a thread of its own, because a runtime is running here.
        let _ = std::thread::spawn(move || runtime().block_on(run(&server, &drop))).join();
    }
}

async fn run(url: &str, script: &str) {
    let database = Database::connect(url).await.unwrap();
    database.execute_unprepared(script).await.unwrap();
    database.close().await.unwrap();
}

async fn operate(scratch: &Scratch) {
    let url = scratch.url();
    // The names of both servers mean the same.
    let operator = Operator::at(&url.replace("mysql://", "mariadb://"));
    let script = operator.run(&["schema", "print", "--shards", "5"]).succeeded();
    run(&url, &script).await;
    assert!(
        operator
            .run(&["schema", "apply", "--for", "notifications,steps", "--shards", "5"])
            .succeeded()
            .contains("into 5 shards")
    );
    let doctor = operator.run(&["doctor"]).succeeded();
    assert!(doctor.contains("ok    isolation") && doctor.contains("ok    release"), "{doctor}");
    let lines: String = (0..120).map(|number| request(number, "\"email\",\"sms\"") + "\n").collect();
    let taken = operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    assert_eq!(taken, "new 120, replayed 0, in conflict 0, refused 0\n");
    operator.deliver(&["--set", "channels.sms.provider=none"]).succeeded();
    assert_eq!(operator.lines("out.jsonl").len(), 120);
    assert!(operator.run(&["show", &id(5)]).succeeded().contains("PARTIALLY_FAILED"));
    assert_eq!(
        operator.run(&["dead", "purge", "--limit", "20", "--yes"]).succeeded(),
        "purged 20 dead letters\n"
    );
    assert_eq!(operator.run(&["dead", "revive", "--all", "--yes"]).succeeded(), "revived 100 dead letters\n");
    let status = operator.run(&["status", "--json"]).succeeded();
    assert!(status.contains("\"due\":100") && status.contains("\"dead\":0"), "{status}");
    let shown = DatabaseUrl::new(&url).unwrap().to_string();
    let refused = operator.run(&["status", "--set", "database.password=wrong-hunter2"]).failed(1);
    assert!(!refused.contains("hunter2") && !shown.contains("hunter2"), "{refused}");
}

/// An operator whose configuration is the same for all strategies, but for the word.
fn configured(scratch: &Scratch, strategy: &str) -> Operator {
    let operator = Operator::at(&scratch.url());
    let file = "[database]\nstrategy = 'WORD'\nlock = 'database'\n[channels.default]\nprovider = 'log'\nfile = 'out.jsonl'\n";
    operator.write("claimstream.toml", file.replace("WORD", strategy));
    operator
}

/// Two relays at once deliver everything, and nothing twice.
fn is_relayed_once(scratch: &Scratch, strategy: &str) {
    let operator = configured(scratch, strategy);
    operator.run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    let lines: String = (0..60).map(|number| request(number, "\"email\",\"sms\"") + "\n").collect();
    operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let ended = operator.run(&["relay", "--until-empty"]);
                assert!(ended.err.contains(&format!("configured={strategy}")), "{ended:?}");
                ended.succeeded();
            });
        }
    });
    let mut delivered: Vec<String> =
        operator.lines("out.jsonl").iter().map(|line| message_of(line)).collect();
    assert_eq!(delivered.len(), 120, "{strategy}");
    delivered.sort();
    delivered.dedup();
    assert_eq!(delivered.len(), 120, "{strategy}");
    assert_eq!(operator.run(&["status"]).succeeded(), "all queues are empty\n");
    assert!(
        operator.run(&["show", &id(7)]).succeeded().contains("0 pending, 2 delivered, 0 skipped, 0 failed")
    );
}

fn message_of(line: &str) -> String {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["id"].as_str().unwrap().to_owned()
}

fn is_refused_by_name(scratch: &Scratch, strategy: &str) {
    configured(scratch, "auto").run(&["schema", "apply", "--for", "notifications,steps"]).succeeded();
    let refused = configured(scratch, strategy).run(&["relay", "--until-empty"]).failed(1);
    assert!(
        refused.contains(strategy) && refused.contains("use strategy preemptive_update or auto"),
        "{refused}"
    );
}
