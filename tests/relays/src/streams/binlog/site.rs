use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use claimstream::LocalWakeup;
use claimstream_binlog::{BinlogPlace, BinlogWakeup};
use claimstream_domain::QueueName;
use claimstream_ports::Wakeup;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::eventually;
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use uuid::Uuid;

use crate::{PrivateDatabase, Server};

/// A server with a binary log, started by the first test that needs it and stopped after the last.
pub(super) struct LoggingServer {
    pub(super) server: Server,
    started: OnceLock<PrivateDatabase>,
}

impl LoggingServer {
    pub(super) fn of(server: Server) -> Self {
        Self { server, started: OnceLock::new() }
    }

    pub(super) async fn url(self: &Arc<Self>) -> String {
        let shared = Arc::clone(self);
        let url = move || shared.started.get_or_init(|| Self::start(shared.server)).url().to_owned();
        tokio::task::spawn_blocking(url).await.expect("a server")
    }

    /// One of its own.
    pub(super) fn start(server: Server) -> PrivateDatabase {
        PrivateDatabase::start(server, "--server-id=1 --log-bin=binlog")
    }
}

/// What a reader of the log needs, as the page about rights says.
pub(super) const RIGHTS: &str = "REPLICATION SLAVE, REPLICATION CLIENT ON *.*";

/// An outbox on a server with a log, and a user who may read that and nothing else.
pub(super) struct Site {
    pub(super) outbox: SeaOrmOutbox,
    pub(super) user: String,
    /// The URL of the user.
    pub(super) url: String,
    admin_url: String,
    admin: DatabaseConnection,
}

impl Site {
    pub(super) async fn on(server_url: &str) -> Self {
        let name = format!("cs_{}", &Uuid::now_v7().simple().to_string()[16..]);
        let admin = Database::connect(server_url).await.expect("a connection");
        let (address, parameters) = server_url.split_once('?').expect("parameters");
        let (server, _) = address.rsplit_once('/').expect("a database");
        let (_, host) = server.split_once('@').expect("a user");
        let admin_url = format!("{server}/{name}?{parameters}");
        let url = format!("mysql://{name}@{host}/{name}?{parameters}");
        for sql in [format!("CREATE DATABASE {name}"), format!("CREATE USER '{name}'@'%'")] {
            carry_out(&admin, &sql).await;
        }
        let outbox = SeaOrmOutbox::open(&admin_url, OpenOptions::default()).await.expect("open");
        Self { outbox, user: name, url, admin_url, admin }
    }

    /// The same, whose user has the rights.
    pub(super) async fn readable(server_url: &str) -> Self {
        let site = Self::on(server_url).await;
        site.grant().await;
        site
    }

    pub(super) async fn grant(&self) {
        self.run(&format!("GRANT {RIGHTS} TO '{}'@'%'", self.user)).await;
    }

    pub(super) fn place(&self) -> BinlogPlace {
        let place = BinlogPlace::new(&self.url).expect("a place");
        place.retry_refused_after(Duration::from_millis(200))
    }

    pub(super) fn reader(&self) -> Arc<dyn Wakeup> {
        Self::reader_at(self.place())
    }

    pub(super) fn reader_at(place: BinlogPlace) -> Arc<dyn Wakeup> {
        Arc::new(BinlogWakeup::new(place, Arc::new(LocalWakeup::new())))
    }

    /// A session of a writer that knows nothing of the library.
    pub(super) async fn writer(&self) -> DatabaseConnection {
        let mut options = ConnectOptions::new(&self.admin_url);
        options.max_connections(1).sqlx_logging(false);
        Database::connect(options).await.expect("a connection")
    }

    pub(super) async fn run(&self, sql: &str) {
        carry_out(&self.admin, sql).await;
    }

    /// The connections on which the user reads the log.
    pub(super) async fn readings(&self) -> Vec<u64> {
        let user = &self.user;
        let asked = format!(
            "SELECT CAST(id AS UNSIGNED) AS id FROM information_schema.processlist \
             WHERE user = '{user}' AND command LIKE 'Binlog Dump%'"
        );
        let rows = loop {
            match self.admin.query_all_raw(Statement::from_string(DbBackend::MySql, &asked)).await {
                // MySQL refuses to list statements that are no UTF-8 while they run.
                Err(error) if error.to_string().contains("Cannot convert string") => {}
                rows => break rows.expect("the processes"),
            }
        };
        rows.iter().map(|row| row.try_get("", "id").expect("an id")).collect()
    }
}

/// While MariaDB 10.5 makes a user for another test, it turns a connection away that is made at that moment.
const NOT_ALLOWED: &str = "is not allowed to connect";

async fn carry_out(admin: &DatabaseConnection, sql: &str) {
    eventually(sql, async || match admin.execute_unprepared(sql).await {
        Ok(_) => true,
        Err(error) if error.to_string().contains(NOT_ALLOWED) => false,
        Err(error) => panic!("{sql}: {error}"),
    })
    .await
}

/// The row that makes a message claimable, due so many seconds from now, as a writer in any language has it.
pub(super) fn plain_insert(queue: &QueueName, due_in: u32) -> String {
    let id = Uuid::now_v7().simple();
    format!(
        "INSERT INTO claimstream_queue (queue, shard, available_at, id) \
         VALUES ('{queue}', 0, UTC_TIMESTAMP(6) + INTERVAL {due_in} SECOND, X'{id}')"
    )
}
