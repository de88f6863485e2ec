//! Promise: a bench leaves the user's database alone, removes what it made also after a signal, and leaves
//! what another run or program uses

use std::{cell::RefCell, process::Stdio};

use claimstream_testbed::eventually as until;
use uuid::Uuid;

use crate::{
    database_server::{Scratch, servers},
    operator::{Operator, Running, eventually, id, request},
};

const SHORT: [&str; 4] = ["bench", "--yes", "--seconds", "0.2"];
const LONG: [&str; 4] = ["bench", "--yes", "--seconds", "60"];

/// The lock files and folders in the operator's folder that a bench has made.
fn made(operator: &Operator) -> Vec<String> {
    let names = std::fs::read_dir(operator.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("claimstream_bench_")).collect()
}

/// Whether a bench whose folder `of` accepts has written to its database.
fn works(operator: &Operator, of: impl Fn(&str) -> bool) -> bool {
    let written = |name: &str| operator.path(name).join("outbox.db-wal").exists();
    made(operator).iter().any(|name| of(name) && written(name))
}

fn begin(operator: &Operator) -> Running {
    let mut command = operator.command(&LONG);
    Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn said(running: &mut Running) -> String {
    std::io::read_to_string(running.0.stderr.take().unwrap()).unwrap()
}

#[test]
fn it_measures_next_to_the_database_and_leaves_nothing() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let looked = operator.run(&["bench"]).succeeded();
    assert!(looked.contains("nothing was measured, give --yes"), "{looked}");
    let before =
        (operator.run(&["status", "--json"]).succeeded(), operator.run(&["show", &id(1)]).succeeded());
    let figures = operator.run(&SHORT).succeeded();
    println!("{figures}");
    for part in
        ["round trip", "commit", "enqueue, 8 x 1", "claim and settle, shard_lease", "enqueue to handler"]
    {
        let line = figures
            .lines()
            .find(|line| line.starts_with(part))
            .unwrap_or_else(|| panic!("{part}: {figures}"));
        assert!(line.contains(" ms") || line.contains("/s"), "{line}");
    }
    assert!(
        figures.contains("synchronous") && figures.contains("each commit waits for the disk"),
        "{figures}"
    );
    assert!(figures.contains("SQLite has one lock"), "the reason why a strategy is not there: {figures}");
    assert_eq!(made(&operator), [""; 0]);
    let after =
        (operator.run(&["status", "--json"]).succeeded(), operator.run(&["show", &id(1)]).succeeded());
    let depth = |status: &str| {
        status.split("\"queues\"").nth(1).map(|queues| queues.split("oldest").next().map(str::to_owned))
    };
    assert_eq!((depth(&after.0), after.1), (depth(&before.0), before.1), "the user's messages are as before");
}

#[test]
fn it_is_refused_without_a_database_next_to_which_it_could_work() {
    let operator = Operator::at("sqlite://missing.db");
    assert!(operator.run(&SHORT).failed(1).contains("there is no database missing.db"));
    assert!(!operator.path("missing.db").exists() && made(&operator).is_empty());
    for seconds in ["0", "-1", "61", "NaN"] {
        let refused = operator.run(&["bench", "--yes", &format!("--seconds={seconds}")]).failed(2);
        assert!(refused.contains("from 0.2 to 60"), "{refused}");
    }
}

#[test]
fn a_signal_ends_it_and_removes_what_it_made() {
    for signal in ["INT", "TERM"] {
        let operator = Operator::with_database();
        let mut bench = begin(&operator);
        eventually("the bench works", || works(&operator, |_| true));
        bench.signal(signal);
        assert_eq!(bench.end().code(), Some(130));
        let said = said(&mut bench);
        assert!(said.contains("interrupted; claimstream_bench_") && said.contains("was removed"), "{said}");
        assert_eq!(made(&operator), [""; 0], "after SIG{signal}");
    }
}

/// Guard: a bench leaves what another run uses | adapters/sea-orm/src/bench/file.rs `remove_leftovers`: the
/// lock is not asked
#[test]
fn what_a_killed_one_leaves_is_removed_by_the_next_and_a_living_one_is_left_alone() {
    let operator = Operator::with_database();
    let mut killed = begin(&operator);
    eventually("the first works", || works(&operator, |_| true));
    let left = made(&operator).into_iter().find(|name| name.ends_with(".lock")).unwrap();
    killed.signal("KILL");
    killed.end();
    assert!(made(&operator).contains(&left), "the process that made it was killed");
    operator.write("claimstream_bench_of_mine.lock", "not of a bench");
    let mut living = begin(&operator);
    let of_living = |name: &str| {
        !left.starts_with(name.split('.').next().unwrap()) && name != "claimstream_bench_of_mine.lock"
    };
    eventually("the second works", || works(&operator, of_living));
    assert!(!made(&operator).contains(&left), "the second has removed it");
    let there: Vec<_> = made(&operator).into_iter().filter(|name| of_living(name)).collect();
    operator.run(&SHORT).succeeded();
    let still = made(&operator);
    assert!(there.iter().all(|name| still.contains(name)), "{there:?} is in use: {still:?}");
    living.signal("INT");
    assert_eq!(living.end().code(), Some(130));
    let said = said(&mut living);
    assert!(
        said.contains(&format!("removed {}, which a bench has left", left.trim_end_matches(".lock"))),
        "{said}"
    );
    assert_eq!(made(&operator), ["claimstream_bench_of_mine.lock"]);
}

/// Guard: a bench leaves a database with other tables | adapters/sea-orm/src/bench/server.rs
/// `remove_leftovers`: no look at other tables
#[tokio::test]
async fn on_a_server_it_makes_a_database_of_its_own_and_removes_it() {
    for (server, url) in servers("on_a_server_it_makes_a_database_of_its_own_and_removes_it") {
        let scratch = Scratch::on(url).await;
        let operator = Operator::at(&scratch.url());
        // A database that is named as a bench's, and that another program uses.
        let foreign = format!("claimstream_bench_{}", Uuid::now_v7().simple());
        scratch.run(&format!("CREATE DATABASE {foreign}")).await;
        scratch.run(&format!("CREATE TABLE {foreign}.orders (id INT PRIMARY KEY)")).await;
        let figures = operator.run(&SHORT).succeeded();
        println!("{}\n{figures}", server.name());
        assert!(
            figures.contains("innodb_flush_log_at_trx_commit") && figures.contains("claim and settle"),
            "{figures}"
        );
        let is_there = |name: String| {
            let scratch = &scratch;
            async move { scratch.count(&counted("SCHEMATA", &format!("SCHEMA_NAME = '{name}'"))).await == 1 }
        };
        assert!(is_there(foreign.clone()).await, "it is not the bench's");
        scratch.run(&format!("DROP DATABASE {foreign}")).await;
        let of_user = counted("TABLES", &format!("TABLE_SCHEMA = '{}'", scratch.name()));
        assert_eq!(scratch.count(&of_user).await, 0, "nothing is made in the user's database");

        let mut killed = begin(&operator);
        let left = name_of_running(&scratch).await;
        killed.signal("KILL");
        killed.end();
        assert!(is_there(left.clone()).await);
        // The server may take a moment to see that the connection is gone, and longer if it is making a table.
        eventually("a bench removes what the killed one has left", || {
            let next = operator.run(&SHORT);
            let is_removed = next.err.contains(&format!("removed {left}"));
            next.succeeded();
            is_removed
        });
        assert!(!is_there(left).await);

        let mut interrupted = begin(&operator);
        let name = name_of_running(&scratch).await;
        let second = operator.run(&SHORT);
        assert!(!second.err.contains(&name) && is_there(name.clone()).await, "{second:?}");
        second.succeeded();
        interrupted.signal("INT");
        assert_eq!(interrupted.end().code(), Some(130));
        assert!(!is_there(name).await);
    }
}

/// The database of the bench that has begun; others of these tests run on other servers.
async fn name_of_running(scratch: &Scratch) -> String {
    let place = "SCHEMA_NAME LIKE 'claimstream\\_bench\\_%' ORDER BY SCHEMA_NAME DESC LIMIT 1";
    let newest = RefCell::new(None);
    until("a bench has made its tables", async || {
        let named = format!("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE {place}");
        let Some(name) = scratch.text(&named).await else { return false };
        let tables = scratch.count(&counted("TABLES", &format!("TABLE_SCHEMA = '{name}'"))).await;
        *newest.borrow_mut() = Some(name);
        tables > 10
    })
    .await;
    newest.into_inner().unwrap()
}

fn counted(what: &str, place: &str) -> String {
    format!("SELECT COUNT(*) FROM information_schema.{what} WHERE {place}")
}

#[tokio::test]
async fn a_user_who_may_make_no_database_is_shown_what_to_grant() {
    for (server, url) in servers("a_user_who_may_make_no_database_is_shown_what_to_grant") {
        let scratch = Scratch::on(url).await;
        let user = format!("cs_{}", &Uuid::now_v7().simple().to_string()[16..]);
        scratch.run(&format!("CREATE USER '{user}'@'%'")).await;
        scratch.run(&format!("GRANT ALL ON {}.* TO '{user}'@'%'", scratch.name())).await;
        let url = scratch.url();
        let (_, place) = url.split_once('@').unwrap();
        let operator = Operator::at(&format!("mysql://{user}@{place}"));
        let refused = operator.run(&SHORT).failed(1);
        let granted = "GRANT ALL ON `claimstream\\_bench\\_%`.* TO";
        assert!(
            refused.contains(granted) && refused.contains("never in yours"),
            "{}: {refused}",
            server.name()
        );
        assert_eq!(refused.matches("bench: misconfigured").count(), 1, "{refused}");
        assert!(refused.contains("may not make a database") && refused.contains("needs CREATE"), "{refused}");
        scratch.run(&format!("{granted} '{user}'@'%'")).await;
        let figures = operator.run(&SHORT).succeeded();
        assert!(figures.contains("enqueue to handler"), "{figures}");
        scratch.run(&format!("DROP USER '{user}'@'%'")).await;
    }
}
