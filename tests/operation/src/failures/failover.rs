//! A replica takes over without the last commits of its source: what was acknowledged is there all the same.
//! Promise: a message that is acknowledged after a failover is there, on a replica that lacks the last
//! commits

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use claimstream::{Compose, Relay, RelayConfig};
use claimstream_domain::{
    Claimed, NewMessage, QueueName, Verdict,
    notification::{
        Channel, DirectRecipient, NotificationMessage, NotificationRequest, RecipientReference, RequestStatus,
    },
};
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{
    MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers, REQUEST_QUEUE, RequestConfig, RequestHandler,
};
use claimstream_ports::{
    Handler,
    notification::{ChannelProvider, Delivered, DeliveryError, NotificationReports},
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::eventually;
use claimstream_tokio::TokioTimer;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    Fixture, Instance, Ports, PrivateDatabase, Server, Suite,
    backend::SeaOrmBackend,
    fixture::{Wire, mail_to},
};

const MESSAGES: usize = 5;

/// Adds it for one MariaDB and one MySQL, if they are here, each with a strategy that marks messages and with the one that
/// does not.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in
        Server::ALL.into_iter().filter(|server| ["mariadb-10.11", "mysql-9.7"].contains(&server.name))
    {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in ["skip_locked", "shard_lease"] {
            let url = url.clone();
            let name = |what: &str| format!("{}::{strategy}::failover::{what}", server.name);
            // Guard: messages that were claimed before a failover are given back |
            // adapters/sea-orm/src/failover/mod.rs: the replica takes over with its source's `server_id`, so
            // the change is not noticed
            suite.add_async_test(
                &name("what_is_acknowledged_is_there_though_the_last_commits_were_lost"),
                async move {
                    let options = SeaOrmBackend::server(server.name, &url, strategy).options();
                    let pair = Pair::start(server).await;
                    acknowledged_is_there(&pair, options).await;
                },
            );
        }
    }
}

/// The handlers' writes are lost with the source; their verdicts come when the replica has taken over.
async fn acknowledged_is_there(pair: &Pair, options: OpenOptions) {
    let wire = Wire::to(pair.source.url()).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, options).await.expect("open");
    let create = "CREATE TABLE effect (message CHAR(36) NOT NULL PRIMARY KEY)";
    outbox.connection().execute_unprepared(create).await.expect("a table");
    let queue = Fixture::fresh_queue();
    let messages: Vec<_> =
        (0..MESSAGES).map(|n| NewMessage::json(queue.clone(), &n).expect("a message")).collect();
    outbox.enqueue_now(&messages).await.expect("enqueue");
    let requests: Vec<_> = (0..MESSAGES).map(|_| request()).collect();
    outbox.submit_now(&requests).await.expect("submit");

    let stops = Stops::default();
    let effects = stops.around(Effects(outbox.clone()));
    let fan_out = stops.around(request_handler(&outbox));
    let relay = Relay::new(Arc::new(outbox.clone()), TokioTimer::new(), RelayConfig::default());
    let shared = Arc::new(outbox.clone());
    let providers = Providers::new().with(Channel::Email, Arc::new(Post));
    let deliveries = MessageHandler::new(shared, providers, MessageConfig::default()).expect("a handler");
    let (over, is_over) = watch::channel(false);
    let until_over = || {
        let mut is_over = is_over.clone();
        async move {
            let _ = is_over.wait_for(|over| *over).await;
        }
    };
    let runs = async {
        futures::try_join!(
            relay.pipeline(queue.clone(), effects).expect("a pipeline").run_until(until_over()),
            relay.pipeline(REQUEST_QUEUE, fan_out).expect("a pipeline").run_until(until_over()),
            relay.pipeline(MESSAGE_QUEUE, deliveries).expect("a pipeline").run_until(until_over()),
        )
    };
    let course = async {
        stops.until_called(2 * MESSAGES).await;
        pair.catch_up().await;
        pair.cut().await;
        stops.let_write();
        stops.until_written(2 * MESSAGES).await;
        pair.promote().await;
        wire.lead_to(pair.replica.url());
        stops.let_answer();
        all_ended(&outbox, &queue).await;
        let _ = over.send(true);
    };
    let (ran, ()) = futures::join!(runs, course);
    let _ = ran.expect("the pipelines went on");

    let effects = Statement::from_string(DbBackend::MySql, "SELECT message FROM effect");
    let effects = outbox.connection().query_all_raw(effects).await.expect("the effects").len();
    let mut stuck = 0;
    for request in &requests {
        let progress = outbox.progress(request.id).await.expect("progress").expect("a request");
        let is_done = progress.recorded == RequestStatus::Dispatched && progress.delivered == 1;
        stuck += usize::from(!is_done);
    }
    assert_eq!(
        (effects, stuck),
        (MESSAGES, 0),
        "effects of acknowledged messages, and requests that are stuck"
    );
}

/// Looks until nothing is left to be done.
async fn all_ended(outbox: &SeaOrmOutbox, queue: &QueueName) {
    let instance = Instance::new(1, Ports::of(outbox.clone()), queue.clone(), 1);
    let queues = [REQUEST_QUEUE, MESSAGE_QUEUE].map(|name| QueueName::new(name).expect("a queue"));
    let is_ours = |name: &QueueName| name == queue || queues.contains(name);
    eventually("nothing is left", || async {
        let left = instance.ports.observe.observe().await;
        left.is_ok_and(|left| left.iter().filter(|one| is_ours(&one.queue)).all(|one| one.depth == 0))
    })
    .await;
}

/// A source and a replica of it.
struct Pair {
    source: PrivateDatabase,
    replica: PrivateDatabase,
    on_source: DatabaseConnection,
    on_replica: DatabaseConnection,
}

impl Pair {
    async fn start(server: Server) -> Self {
        let is_mysql = server.name.starts_with("mysql");
        let kind =
            if is_mysql { "--gtid-mode=ON --enforce-gtid-consistency=ON" } else { "--binlog-format=ROW" };
        let start = |id: u32| {
            let options = format!("--server-id={id} --log-bin=binlog {kind}");
            tokio::task::spawn_blocking(move || PrivateDatabase::start(server, &options))
        };
        let (source, replica) = futures::join!(start(1), start(2));
        let (source, replica) = (source.expect("a source"), replica.expect("a replica"));
        let connect = |url: String| async move { Database::connect(url).await.expect("a connection") };
        let on_source = connect(source.url().to_owned()).await;
        let on_replica = connect(replica.url().to_owned()).await;
        let port: String = source.url().split("127.0.0.1:").nth(1).expect("a port").into();
        let port = port.split('/').next().expect("a port");
        let follow = match is_mysql {
            true => format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, \
                 SOURCE_USER = 'root', SOURCE_PASSWORD = '', SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1"
            ),
            false => format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'root', \
                 MASTER_PASSWORD = '', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1"
            ),
        };
        let pair = Self { source, replica, on_source, on_replica };
        pair.tell_replica(&[&follow, "START REPLICA"]).await;
        pair
    }

    /// Waits until the replica has what the source has.
    async fn catch_up(&self) {
        let marker = format!("marker_{}", Uuid::now_v7().simple());
        let create = format!("CREATE TABLE {marker} (id INT NOT NULL PRIMARY KEY)");
        self.on_source.execute_unprepared(&create).await.expect("a marker");
        let look = &format!("SELECT id FROM {marker}");
        eventually("the replica has caught up", || async {
            self.on_replica.execute_unprepared(look).await.is_ok()
        })
        .await;
    }

    /// From now on the replica hears nothing.
    async fn cut(&self) {
        self.tell_replica(&["STOP REPLICA IO_THREAD"]).await;
    }

    async fn promote(&self) {
        self.tell_replica(&["STOP REPLICA", "RESET REPLICA ALL"]).await;
    }

    async fn tell_replica(&self, statements: &[&str]) {
        for statement in statements {
            self.on_replica.execute_unprepared(statement).await.expect(statement);
        }
    }
}

/// Where handlers stop: before they write, and before they answer.
#[derive(Clone)]
struct Stops {
    called: Arc<AtomicUsize>,
    written: Arc<AtomicUsize>,
    write: Arc<watch::Sender<bool>>,
    answer: Arc<watch::Sender<bool>>,
}

impl Default for Stops {
    fn default() -> Self {
        let [called, written] = [(); 2].map(|()| Arc::default());
        let [write, answer] = [(); 2].map(|()| Arc::new(watch::channel(false).0));
        Self { called, written, write, answer }
    }
}

impl Stops {
    fn around<H: Handler>(&self, handler: H) -> Stopping<H> {
        Stopping { stops: self.clone(), handler }
    }

    async fn until_called(&self, handlers: usize) {
        until(&self.called, handlers).await;
    }

    async fn until_written(&self, handlers: usize) {
        until(&self.written, handlers).await;
    }

    fn let_write(&self) {
        self.write.send_replace(true);
    }

    fn let_answer(&self) {
        self.answer.send_replace(true);
    }
}

async fn until(counted: &AtomicUsize, handlers: usize) {
    let what = format!("{handlers} handlers came that far");
    eventually(&what, || async { counted.load(Ordering::SeqCst) >= handlers }).await;
}

struct Stopping<H> {
    stops: Stops,
    handler: H,
}

#[async_trait]
impl<H: Handler> Handler for Stopping<H> {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        self.stops.called.fetch_add(1, Ordering::SeqCst);
        let _ = self.stops.write.subscribe().wait_for(|open| *open).await;
        let verdict = self.handler.handle(claimed).await;
        self.stops.written.fetch_add(1, Ordering::SeqCst);
        let _ = self.stops.answer.subscribe().wait_for(|open| *open).await;
        verdict
    }
}

/// Writes a row for each message.
struct Effects(SeaOrmOutbox);

#[async_trait]
impl Handler for Effects {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let insert = format!("INSERT IGNORE INTO effect (message) VALUES ('{}')", claimed.message.id);
        match self.0.connection().execute_unprepared(&insert).await {
            Ok(_) => Verdict::ack(),
            Err(error) => Verdict::nack(error),
        }
    }
}

fn request_handler(outbox: &SeaOrmOutbox) -> RequestHandler {
    let (shared, config) = (Arc::new(outbox.clone()), RequestConfig::default());
    let (directory, templates) = (Arc::new(MemoryDirectory::new()), Arc::new(MemoryTemplates::new("en")));
    RequestHandler::new(shared.clone(), shared, directory, templates, config).expect("a handler")
}

fn request() -> NotificationRequest {
    let recipient = DirectRecipient { email: Some("ann@example.com".into()), ..DirectRecipient::default() };
    mail_to(RecipientReference::Direct(recipient))
}

/// Takes everything.
struct Post;

#[async_trait]
impl ChannelProvider for Post {
    async fn deliver(&self, _: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        Ok(Delivered::default())
    }
}
