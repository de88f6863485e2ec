//! A URL names two servers, of which one is read-only: when they change roles under load, the outbox follows within two seconds and
//! nothing is lost.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use claimstream::{Compose, Relay, RelayConfig};
use claimstream_domain::{Claimed, MessageId, NewMessage, QueueName, Severity, Verdict};
use claimstream_ports::Handler;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use tokio::sync::watch;

use crate::{Fixture, PrivateDatabase, Server, Suite, backend::SeaOrmBackend, fixture::Wire};

/// How long an outbox may take once a server takes writes.
const SOON: Duration = Duration::from_secs(2);
/// How much longer it may take while many trials share two processors; alone it takes half of `SOON`.
const BUSY: u32 = 3;
/// How long it works undisturbed.
const A_WHILE: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(30);

/// Adds it for one MariaDB and one MySQL, if they are here, each with another strategy.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for (name, strategy) in [("mariadb-10.11", "shard_lease"), ("mysql-9.7", "skip_locked")] {
        let Some(server) = Server::ALL.into_iter().find(|server| server.name == name) else { continue };
        let Some(url) = server.url(&environment) else { continue };
        let trial = |what: &str| format!("{name}::{strategy}::several_servers::{what}");
        suite.add_async_trial(
            &trial("the_server_that_takes_writes_is_followed_within_two_seconds"),
            async move {
                let mut options = SeaOrmBackend::server(name, &url, strategy).options();
                if strategy == "skip_locked" {
                    // As few as there may be.
                    (options.max_connections, options.relay_connections) = (2, 2);
                }
                follows(server, options).await;
            },
        );
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
            took.push((fault, work.goes_on_since(since).await));
            tokio::time::sleep(A_WHILE).await;
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
    for (fault, times) in took {
        assert!(
            times.iter().all(|time| *time < SOON * BUSY),
            "{fault:?}: {times:?} for a message in and for one handled"
        );
    }
    let misled = SeaOrmOutbox::open(
        &pair.url_of_followers(),
        OpenOptions { acquire_timeout: SOON, ..options.clone() },
    )
    .await;
    let why = misled.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(why.contains("no server takes writes") && why.contains("read_only = ON"), "{why:?}");
    pair.wire_anew().await;
    given_up_stays_given_up(&pair, options).await;
}

/// A server that was given up answers again and takes writes, beside the one that has its place: nothing is written to it, though a connection
/// was on its way there. The self-check names what is amiss of each address.
async fn given_up_stays_given_up(pair: &Pair, options: OpenOptions) {
    /// Longer than a silent server is waited for.
    const SILENT: Duration = Duration::from_secs(4);
    let (old, new) = (pair.writer, 1 - pair.writer);
    let outbox = SeaOrmOutbox::open(&pair.url(), options.clone()).await.expect("open");
    says(&outbox, Severity::Good, "takes no writes").await;
    pair.tell(new, &["STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only = OFF"]).await;
    says(&outbox, Severity::Warning, "takes writes too and does not have").await;
    let torn = SeaOrmOutbox::open(&pair.url(), OpenOptions { acquire_timeout: SOON, ..options }).await;
    let why = torn.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        why.contains("take writes and do not have the same data, so the outbox connects to none"),
        "{why:?}"
    );

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
        assert!(began.elapsed() < PATIENCE, "{of_other} is not said: {said:?}");
    }
}

/// What befalls the server that takes writes.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It becomes read-only.
    None,
    /// Its address refuses connections besides.
    Refuses,
    /// The link to it takes everything and answers nothing.
    Swallows,
}

/// Two servers, each behind a wire, of which one follows the other.
struct Pair {
    is_mysql: bool,
    nodes: [Node; 2],
    writer: usize,
}

struct Node {
    database: PrivateDatabase,
    wire: Wire,
    /// As an administrator, past the wire.
    on: DatabaseConnection,
}

impl Pair {
    async fn start(server: Server) -> Self {
        let is_mysql = server.name.starts_with("mysql");
        let kind = match is_mysql {
            true => "--gtid-mode=ON --enforce-gtid-consistency=ON",
            false => "--binlog-format=ROW --gtid-strict-mode=ON --log-slave-updates=ON",
        };
        let start = |id: u32| async move {
            let options = format!("--server-id={id} --log-bin=binlog {kind}");
            let started = tokio::task::spawn_blocking(move || PrivateDatabase::start(server, &options));
            let database = started.await.expect("a server");
            let wire = Wire::to(database.url()).await.expect("a port");
            let on = Database::connect(database.url()).await.expect("a connection");
            Node { database, wire, on }
        };
        let (first, second) = futures::join!(start(1), start(2));
        let pair = Self { is_mysql, nodes: [first, second], writer: 0 };
        pair.follow(1, 0).await;
        pair.tell(1, &["SET GLOBAL read_only = ON"]).await;
        pair.tell(0, &["CREATE USER app@'127.0.0.1'", "GRANT ALL ON claimstream.* TO app@'127.0.0.1'"]).await;
        pair.catch_up(1, 0).await;
        pair
    }

    /// Both servers, the one that follows first.
    fn url(&self) -> String {
        let places = [1, 0].map(|at| place(&self.nodes[at].wire.url));
        // A wire does not hand on that its client has hung up, for which TLS waits.
        format!("mysql://app@{}/claimstream?ssl-mode=disabled", places.join(","))
    }

    /// The server that follows, under two addresses.
    fn url_of_followers(&self) -> String {
        let follower = place(self.nodes[1 - self.writer].database.url());
        let port = follower.rsplit_once(':').map_or("", |(_, port)| port);
        format!("mysql://app@{follower},localhost:{port}/claimstream")
    }

    /// The other server takes writes; answers since when.
    async fn change_roles(&mut self, fault: Fault) -> Instant {
        let (old, new) = (self.writer, 1 - self.writer);
        match fault {
            Fault::None => {}
            Fault::Refuses => self.nodes[old].wire.lead_nowhere(),
            Fault::Swallows => self.nodes[old].wire.swallow(),
        }
        self.tell(old, &["SET GLOBAL read_only = ON"]).await;
        self.catch_up(new, old).await;
        self.tell(new, &["STOP REPLICA", "RESET REPLICA ALL"]).await;
        // As long as somebody needs at least to notice it and to decide.
        tokio::time::sleep(4 * A_WHILE).await;
        self.tell(new, &["SET GLOBAL read_only = OFF"]).await;
        let since = Instant::now();
        self.follow(old, new).await;
        if matches!(fault, Fault::Refuses) {
            self.nodes[old].wire.lead_to(self.nodes[old].database.url());
        }
        self.writer = new;
        since
    }

    /// Wires that pass on what they are sent.
    async fn wire_anew(&mut self) {
        for node in &mut self.nodes {
            node.wire = Wire::to(node.database.url()).await.expect("a port");
        }
    }

    async fn follow(&self, replica: usize, source: usize) {
        let place = place(self.nodes[source].database.url());
        let port = place.rsplit_once(':').map_or("", |(_, port)| port);
        let follow = match self.is_mysql {
            true => format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', \
                 SOURCE_PASSWORD = '', SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1"
            ),
            false => format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'root', \
                 MASTER_PASSWORD = '', MASTER_USE_GTID = current_pos, MASTER_CONNECT_RETRY = 1"
            ),
        };
        self.tell(replica, &[&follow, "START REPLICA"]).await;
    }

    /// Waits until a replica has what its source has.
    async fn catch_up(&self, replica: usize, source: usize) {
        let (position, wait) = match self.is_mysql {
            true => ("SELECT @@gtid_executed", "WAIT_FOR_EXECUTED_GTID_SET"),
            false => ("SELECT @@gtid_binlog_pos", "MASTER_GTID_WAIT"),
        };
        let position: String = self.ask(source, position).await;
        let waited: i64 = self.ask(replica, &format!("SELECT {wait}('{position}', 20)")).await;
        assert_eq!(waited, 0, "the replica does not catch up");
    }

    async fn ask<T: sea_orm::TryGetable>(&self, at: usize, question: &str) -> T {
        let asked = Statement::from_string(DbBackend::MySql, question);
        let row = self.nodes[at].on.query_one_raw(asked).await.expect(question).expect("a row");
        row.try_get_by_index(0).expect(question)
    }

    async fn tell(&self, at: usize, statements: &[&str]) {
        for statement in statements {
            self.nodes[at].on.execute_unprepared(statement).await.expect(statement);
        }
    }
}

/// The host and the port of a URL.
fn place(url: &str) -> &str {
    let (_, rest) = url.split_once('@').expect("a user");
    rest.split_once('/').expect("a database").0
}

/// What was taken in and what was handled, each with its moment.
#[derive(Clone, Default)]
struct Work(Arc<Mutex<Done>>);

#[derive(Default)]
struct Done {
    accepted: Vec<(MessageId, Instant)>,
    handled: Vec<(MessageId, Instant)>,
}

impl Work {
    fn done(&self) -> std::sync::MutexGuard<'_, Done> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accepted(&self) -> Vec<MessageId> {
        self.done().accepted.iter().map(|(id, _)| *id).collect()
    }

    /// Enqueues message after message; an error is nobody's loss.
    async fn produce(&self, outbox: &SeaOrmOutbox, queue: &QueueName, stopped: watch::Receiver<bool>) {
        while !*stopped.borrow() {
            let message = NewMessage::json(queue.clone(), &"a message").expect("a message");
            let id = message.id;
            if outbox.enqueue_now(&[message]).await.is_ok() {
                self.done().accepted.push((id, Instant::now()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// How long after `since` a message was taken in, and one handled that was taken in afterwards.
    async fn goes_on_since(&self, since: Instant) -> [Duration; 2] {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            {
                let done = self.done();
                let first = done.accepted.iter().map(|(_, at)| *at).find(|at| *at > since);
                let newer: HashSet<MessageId> =
                    done.accepted.iter().filter(|(_, at)| *at > since).map(|(id, _)| *id).collect();
                let handled = done.handled.iter().find(|(id, _)| newer.contains(id)).map(|(_, at)| *at);
                if let (Some(first), Some(handled)) = (first, handled) {
                    return [first - since, handled - since];
                }
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        [PATIENCE; 2]
    }

    async fn all_handled(&self) {
        let began = Instant::now();
        loop {
            let lost = {
                let done = self.done();
                let handled: HashSet<MessageId> = done.handled.iter().map(|(id, _)| *id).collect();
                done.accepted.iter().filter(|(id, _)| !handled.contains(id)).count()
            };
            if lost == 0 {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{lost} messages that were taken in are lost");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[async_trait]
impl Handler for Work {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        self.done().handled.push((claimed.message.id, Instant::now()));
        Verdict::ack()
    }
}
