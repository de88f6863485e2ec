use std::time::{Duration, Instant};

use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement, TryGetable};

use crate::{PrivateDatabase, Server, fixture::Wire};

/// Two servers, each behind a wire, of which one follows the other.
pub(super) struct Pair {
    is_mysql: bool,
    pub(super) nodes: [Node; 2],
    pub(super) writer: usize,
}

pub(super) struct Node {
    database: PrivateDatabase,
    pub(super) wire: Wire,
    /// As an administrator, past the wire.
    on: DatabaseConnection,
}

/// What befalls the server that takes writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// It becomes read-only.
    None,
    /// Its address refuses connections besides.
    Refuses,
    /// The link to it takes everything and answers nothing.
    Swallows,
}

/// As long as an operator needs at least to notice it and to decide.
const TO_DECIDE: Duration = Duration::from_secs(2);

impl Pair {
    pub(super) async fn start(server: Server) -> Self {
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
    pub(super) fn url(&self) -> String {
        let places = [1, 0].map(|at| place(&self.nodes[at].wire.url));
        // A wire does not hand on that its client has hung up, for which TLS waits.
        format!("mysql://app@{}/claimstream?ssl-mode=disabled", places.join(","))
    }

    /// The server that follows, under two addresses.
    pub(super) fn url_of_followers(&self) -> String {
        let follower = place(self.nodes[1 - self.writer].database.url());
        let port = follower.rsplit_once(':').map_or("", |(_, port)| port);
        format!("mysql://app@{follower},localhost:{port}/claimstream")
    }

    /// The other server takes writes; answers since when.
    pub(super) async fn change_roles(&mut self, fault: Fault) -> Instant {
        let (old, new) = (self.writer, 1 - self.writer);
        match fault {
            Fault::None => {}
            Fault::Refuses => self.nodes[old].wire.lead_nowhere(),
            Fault::Swallows => self.nodes[old].wire.swallow(),
        }
        self.tell(old, &["SET GLOBAL read_only = ON"]).await;
        self.catch_up(new, old).await;
        self.tell(new, &["STOP REPLICA", "RESET REPLICA ALL"]).await;
        tokio::time::sleep(TO_DECIDE).await;
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
    pub(super) async fn rewire(&mut self) {
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

    async fn ask<T: TryGetable>(&self, at: usize, question: &str) -> T {
        let asked = Statement::from_string(DbBackend::MySql, question);
        let row = self.nodes[at].on.query_one_raw(asked).await.expect(question).expect("a row");
        row.try_get_by_index(0).expect(question)
    }

    pub(super) async fn tell(&self, at: usize, statements: &[&str]) {
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
