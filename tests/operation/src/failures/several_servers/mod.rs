//! A URL names two servers, of which one is read-only: when they change roles under load, the outbox follows within two seconds and
//! nothing is lost.
//! Promise: of several servers in a URL, the one that takes writes is followed within two seconds, whether
//! the old one became read-only, refuses or is silent; nothing that was accepted is lost, and no connection
//! leads to other data

mod pair;
mod work;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream::{Compose, Relay, RelayConfig};
use claimstream_domain::{NewMessage, Severity};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use tokio::sync::watch;

use self::{
    pair::{Fault, Pair},
    work::Work,
};
use crate::{Fixture, Server, Suite, backend::SeaOrmBackend, suite::RUNTIME};

/// How long an outbox may take once a server takes writes.
const SOON: Duration = Duration::from_secs(2);
/// What it does not take either while many tests share two processors; alone it takes half of `SOON`.
const LATE: Duration = Duration::from_secs(6);
/// How long it works undisturbed.
const A_WHILE: Duration = Duration::from_millis(500);
const TIMEOUT: Duration = Duration::from_secs(30);

/// Adds it for one MariaDB and one MySQL, if they are here, each with another strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for (name, strategy) in [("mariadb-10.11", "shard_lease"), ("mysql-9.7", "skip_locked")] {
        let Some(server) = Server::ALL.into_iter().find(|server| server.name == name) else { continue };
        let Some(url) = server.url(&environment) else { continue };
        let test = |what: &str| format!("{name}::{strategy}::several_servers::{what}");
        // Guard: a connection to other data is refused | adapters/sea-orm/src/database/nodes/known.rs
        // `check`: any server that takes writes
        let what = "the_server_that_takes_writes_is_followed_within_two_seconds";
        suite.add_long("faults", &test(what), move || {
            let mut options = SeaOrmBackend::server(name, &url, strategy).options();
            if strategy == "skip_locked" {
                // As few as there may be.
                (options.max_connections, options.relay_connections) = (2, 2);
            }
            RUNTIME.block_on(follows(server, options));
        });
    }
}

async fn follows(server: Server, options: OpenOptions) {
    let mut pair = Pair::start(server).await;
    let outbox = SeaOrmOutbox::open(&pair.url(), options.clone()).await.expect("open");
    let work = Work::default();
    let queue = Fixture::fresh_queue();
    let (over, is_over) = watch::channel(false);
    let until_over = || {
        let mut is_over = is_over.clone();
        async move {
            let _ = is_over.wait_for(|over| *over).await;
        }
    };
    let relay = Relay::new(Arc::new(outbox.clone()), TokioTimer::new(), RelayConfig::default());
    let consumer = relay.pipeline(queue.clone(), work.clone()).expect("a pipeline").run_until(until_over());
    let (stop, is_stopped) = watch::channel(false);
    let producers =
        futures::future::join_all((0..2).map(|_| work.produce(&outbox, &queue, is_stopped.clone())));
    let course = async {
        tokio::time::sleep(A_WHILE).await;
        let mut took = Vec::new();
        for fault in [Fault::None, Fault::Refuses, Fault::Swallows] {
            let since = pair.change_roles(fault).await;
            let mut times = work.goes_on_since(since).await;
            tokio::time::sleep(A_WHILE).await;
            // A busy machine may be late once; a link that swallows stays as it is.
            if times.iter().any(|time| *time >= LATE) && !matches!(fault, Fault::Swallows) {
                // The roles go back then, so an outbox that had not followed at all would look as if it did.
                assert!(times.iter().all(|time| *time < TIMEOUT), "messages in and handled: {times:?}");
                let since = pair.change_roles(fault).await;
                times = work.goes_on_since(since).await;
                tokio::time::sleep(A_WHILE).await;
            }
            took.push((fault, times));
        }
        stop.send_replace(true);
        work.all_handled().await;
        over.send_replace(true);
        took
    };
    let (ran, _, took) = futures::join!(consumer, producers, course);
    let _ = ran.expect("the pipeline went on");
    let accepted = work.accepted().len();
    eprintln!("{}: {accepted} messages; went on after {took:?}", server.name);
    assert!(accepted > 100, "{accepted} messages are no load");
    let is_late = took.iter().flat_map(|(_, times)| *times).any(|time| time >= LATE);
    assert!(!is_late, "messages in and handled: {took:?}");
    let brief = OpenOptions { acquire_timeout: SOON, ..options.clone() };
    is_refused(&pair.url_of_followers(), &brief, &["no server takes writes", "read_only = ON"]).await;
    pair.rewire().await;
    given_up_stays_given_up(&pair, options).await;
}

/// A server that was given up answers again and takes writes, at the same time as the one that has its place: nothing is written to it, though a connection
/// was on its way there. The self-check names what is amiss of each address.
async fn given_up_stays_given_up(pair: &Pair, options: OpenOptions) {
    /// Longer than a silent server is waited for.
    const SILENT: Duration = Duration::from_secs(4);
    let (old, new) = (pair.writer, 1 - pair.writer);
    let outbox = SeaOrmOutbox::open(&pair.url(), options.clone()).await.expect("open");
    says(&outbox, Severity::Good, "takes no writes").await;
    pair.tell(new, &["STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only = OFF"]).await;
    says(&outbox, Severity::Warning, "takes writes too and does not have").await;
    let torn = "take writes and do not have the same data, so the outbox connects to none";
    is_refused(&pair.url(), &OpenOptions { acquire_timeout: SOON, ..options }, &[torn]).await;

    let own = outbox.connection();
    while let Some(idle) = own.get_mysql_connection_pool().try_acquire() {
        drop(idle.detach());
    }
    pair.nodes[old].wire.answer_after(SILENT);
    let asked = own.query_one_raw(Statement::from_string(DbBackend::MySql, "SELECT @@server_id"));
    let moved = async {
        let message = NewMessage::json(Fixture::fresh_queue(), &"a message").expect("a message");
        while outbox.enqueue_now(std::slice::from_ref(&message)).await.is_err() {}
        pair.nodes[old].wire.answer_after(Duration::ZERO);
    };
    let (asked, ()) = futures::join!(asked, moved);
    let asked: u64 = asked.expect("an answer").expect("a row").try_get_by_index(0).expect("a number");
    assert_eq!(asked, new as u64 + 1, "a connection arrived at the server that was given up, and was used");
    pair.nodes[old].wire.lead_nowhere();
    says(&outbox, Severity::Warning, "was not reached").await;
}

/// Opens nothing, and says why; a busy machine may miss an answer.
async fn is_refused(url: &str, options: &OpenOptions, why: &[&str]) {
    let began = Instant::now();
    loop {
        let opened = SeaOrmOutbox::open(url, options.clone()).await;
        let said = opened.err().map(|error| error.to_string()).unwrap_or_default();
        if why.iter().all(|why| said.contains(why)) {
            return;
        }
        assert!(began.elapsed() < TIMEOUT, "{said:?}");
    }
}

/// Waits until the self-check says this of the server that is not written to; a busy machine may miss an answer.
async fn says(outbox: &SeaOrmOutbox, expected: Severity, of_other: &str) {
    let began = Instant::now();
    loop {
        let found = outbox.doctor().await.unwrap_or_default().into_iter();
        let said: Vec<_> = found.filter(|finding| finding.check == "servers").collect();
        if let [writer, other] = &said[..]
            && (writer.severity, other.severity) == (Severity::Good, expected)
            && other.detail.contains(of_other)
        {
            return;
        }
        assert!(began.elapsed() < TIMEOUT, "{of_other} is not said: {said:?}");
    }
}
