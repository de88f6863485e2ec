use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use claimstream::{Claim, Relay, RelayConfig};
use claimstream_domain::{MessageId, NewMessage, OrderingKey, Payload, QueueName, ShardCount};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, Statement, TransactionTrait};
use tempfile::TempDir;
use tokio::{sync::Semaphore, task::JoinHandle};
use uuid::Uuid;

use crate::database_server::Scratch;

const QUEUE: &str = "orders";
/// Of each writer.
const KEYS: usize = 40;
/// Written before anything is claimed, so that there is something to move.
const BACKLOG: usize = 20;

/// Where the queue is.
pub(super) enum Place {
    File(TempDir),
    Server(Scratch),
}

pub(super) async fn place(url: Option<String>) -> Place {
    match url {
        None => Place::File(tempfile::tempdir().unwrap()),
        Some(url) => Place::Server(Scratch::on(url).await),
    }
}

impl Place {
    pub(super) fn url(&self) -> String {
        match self {
            Self::File(directory) => format!("sqlite://{}", directory.path().join("shop.db").display()),
            Self::Server(scratch) => scratch.url(),
        }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Its database on a server.
    #[track_caller]
    pub(super) fn scratch(&self) -> &Scratch {
        match self {
            Self::File(_) => panic!("it is a file"),
            Self::Server(scratch) => scratch,
        }
    }
}

pub(super) fn message(key: &str, number: usize) -> NewMessage {
    let payload = Payload::new("text/plain", format!("{key} {number}").into_bytes()).unwrap();
    let id = MessageId::new(Uuid::now_v7());
    NewMessage::new(id, QueueName::new(QUEUE).unwrap(), payload).ordered_by(OrderingKey::new(key).unwrap())
}

/// How long it takes to write 500 messages in one transaction.
pub(super) async fn time_enqueueing(outbox: &SeaOrmOutbox) -> Duration {
    let all: Vec<NewMessage> = (0..500).map(|number| message(&format!("customer-{number:011}"), 1)).collect();
    let began = Instant::now();
    outbox.enqueue_now(&all).await.unwrap();
    began.elapsed()
}

/// Makes a dead letter of everything.
pub(super) async fn bury_all(place: &Place) {
    let db = Database::connect(place.url()).await.unwrap();
    for statement in [
        "INSERT INTO claimstream_dead (id, queue, shard, ordering_key, content_type, payload, created_at, attempts, reason, died_at) \
         SELECT id, queue, shard, ordering_key, content_type, payload, created_at, 1, 'busy', created_at FROM claimstream_message",
        "DELETE FROM claimstream_queue",
    ] {
        db.execute_unprepared(statement).await.unwrap();
    }
    db.close().await.unwrap();
}

/// Keys of entries that do not lie in their shard of so many, and of bodies that do not.
pub(super) async fn misplaced(place: &Place, count: u16) -> Vec<(String, i64)> {
    let db = Database::connect(place.url()).await.unwrap();
    let of = |table: &str| {
        format!(
            "SELECT m.ordering_key AS k, t.shard + 0 AS s FROM {table} t JOIN claimstream_message m ON m.id = t.id \
             WHERE m.ordering_key IS NOT NULL"
        )
    };
    let count = ShardCount::new(count).unwrap();
    let mut misplaced = Vec::new();
    for table in ["claimstream_queue", "claimstream_message"] {
        let statement = Statement::from_string(db.get_database_backend(), of(table));
        for row in db.query_all_raw(statement).await.unwrap() {
            let key: String = match row.try_get::<Vec<u8>>("", "k") {
                Ok(bytes) => String::from_utf8(bytes).unwrap(),
                Err(_) => row.try_get("", "k").unwrap(),
            };
            let shard =
                row.try_get::<i64>("", "s").or_else(|_| row.try_get::<u64>("", "s").map(|s| s as i64));
            let shard = shard.unwrap();
            if shard != i64::from(count.shard_of_bytes(key.as_bytes()).number())
                && table == "claimstream_queue"
            {
                misplaced.push((key, shard));
            }
        }
    }
    db.close().await.unwrap();
    misplaced
}

/// What is known of every message from outside.
#[derive(Default)]
struct Ledger {
    /// The newest message of each key whose handler has begun.
    newest: HashMap<String, usize>,
    in_hand: HashSet<String>,
    handled: HashMap<(String, usize), usize>,
    faults: Vec<String>,
}

/// Writers that know the old number of shards, and relays that claim what they write.
pub(super) struct Orders {
    place: Place,
    written: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    ledger: Arc<Mutex<Ledger>>,
    writers: Vec<JoinHandle<()>>,
    relays: Vec<JoinHandle<()>>,
    is_done: Arc<AtomicBool>,
}

impl Orders {
    pub(super) async fn begin(place: Place, strategy: &str, order: &str) -> Self {
        let (written, stop, is_done) = (Arc::default(), Arc::default(), Arc::default());
        let mut orders = Self {
            place,
            written,
            stop,
            is_done,
            ledger: Arc::default(),
            writers: Vec::new(),
            relays: Vec::new(),
        };
        let (url, options) = (orders.place.url(), || OpenOptions {
            strategy: strategy.parse().unwrap(),
            order: order.parse().unwrap(),
            ..OpenOptions::default()
        });
        let writer = SeaOrmOutbox::open(&url, options()).await.unwrap();
        let by_sql = Database::connect(&url).await.unwrap();
        let mut numbers = [0; 2];
        for number in 1..=BACKLOG {
            orders.write_round(&writer, number).await;
            orders.insert_round(&by_sql, number).await;
            numbers = [number; 2];
        }
        let [library, rows] = numbers;
        orders.writers.push(orders.keep_writing(move |orders, number| {
            let writer = writer.clone();
            async move { orders.write_round(&writer, library + number).await }
        }));
        orders.writers.push(orders.keep_writing(move |orders, number| {
            let by_sql = by_sql.clone();
            async move { orders.insert_round(&by_sql, rows + number).await }
        }));
        for _ in 0..2 {
            let outbox = SeaOrmOutbox::open(&url, options()).await.unwrap();
            orders.relays.push(orders.relay(outbox));
        }
        orders
    }

    /// A part that writers have.
    fn hand(&self) -> Hand {
        Hand { written: Arc::clone(&self.written) }
    }

    fn keep_writing<F: Future<Output = ()> + Send>(
        &self,
        write: impl Fn(Hand, usize) -> F + Send + 'static,
    ) -> JoinHandle<()> {
        let (hand, stop) = (self.hand(), Arc::clone(&self.stop));
        tokio::spawn(async move {
            let mut number = 0;
            while !stop.load(Ordering::SeqCst) {
                number += 1;
                write(hand.clone(), number).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    }

    async fn write_round(&self, writer: &SeaOrmOutbox, number: usize) {
        self.hand().write_round(writer, number).await;
    }

    async fn insert_round(&self, db: &DatabaseConnection, number: usize) {
        self.hand().insert_round(db, number).await;
    }

    fn relay(&self, outbox: SeaOrmOutbox) -> JoinHandle<()> {
        let (ledger, is_done) = (Arc::clone(&self.ledger), Arc::clone(&self.is_done));
        tokio::spawn(async move {
            let relay = Relay::new(Arc::new(outbox), TokioTimer::new(), RelayConfig::default());
            let mut claims = relay.claims(QUEUE).unwrap();
            let places = Arc::new(Semaphore::new(8));
            while !is_done.load(Ordering::SeqCst) {
                let next = tokio::time::timeout(Duration::from_millis(200), claims.try_next()).await;
                let Ok(next) = next else { continue };
                let Some(claim) = next.unwrap() else { break };
                let place = Arc::clone(&places).acquire_owned().await.unwrap();
                let ledger = Arc::clone(&ledger);
                tokio::spawn(async move {
                    handle(&ledger, claim).await;
                    drop(place);
                });
            }
            let _ = places.acquire_many(8).await;
            claims.close().await.unwrap();
        })
    }

    /// Waits until everything is handled, and says how much it was.
    pub(super) async fn end(self, in_order: bool) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        for writer in self.writers {
            writer.await.unwrap();
        }
        let written = self.written.load(Ordering::SeqCst);
        let began = Instant::now();
        while self.ledger.lock().unwrap().handled.len() < written && began.elapsed() < Duration::from_secs(60)
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        self.is_done.store(true, Ordering::SeqCst);
        for relay in self.relays {
            relay.await.unwrap();
        }
        let ledger = self.ledger.lock().unwrap();
        let doubled: Vec<_> = ledger.handled.iter().filter(|(_, times)| **times > 1).collect();
        assert_eq!(
            (ledger.handled.len(), doubled),
            (written, Vec::new()),
            "of those written, and those doubled"
        );
        if in_order {
            let (faults, first) = (ledger.faults.len(), ledger.faults.iter().take(10).collect::<Vec<_>>());
            assert_eq!((faults, first), (0, Vec::new()));
        }
        written
    }
}

async fn handle(ledger: &Mutex<Ledger>, claim: Claim) {
    let text = String::from_utf8(claim.message().payload.bytes().to_vec()).unwrap();
    let (key, number) = text.rsplit_once(' ').unwrap();
    let number: usize = number.parse().unwrap();
    {
        let mut ledger = ledger.lock().unwrap();
        if !ledger.in_hand.insert(key.to_owned()) {
            ledger.faults.push(format!("{key} is in two hands at {number}"));
        }
        let newest = ledger.newest.insert(key.to_owned(), number).unwrap_or_default();
        if number != newest + 1 {
            ledger.faults.push(format!("{key}: {number} follows {newest}"));
        }
        *ledger.handled.entry((key.to_owned(), number)).or_default() += 1;
    }
    tokio::time::sleep(Duration::from_millis(if number.is_multiple_of(29) { 150 } else { 1 })).await;
    ledger.lock().unwrap().in_hand.remove(key);
    claim.ack().await.unwrap();
}

#[derive(Clone)]
struct Hand {
    written: Arc<AtomicUsize>,
}

impl Hand {
    /// The next message of each key, by the library.
    async fn write_round(&self, writer: &SeaOrmOutbox, number: usize) {
        let all: Vec<NewMessage> = (0..KEYS).map(|key| message(&format!("customer-{key}"), number)).collect();
        let (in_own, now) = all.split_at(KEYS / 2);
        let tx = writer.begin().await.unwrap();
        writer.enqueue_on(&tx, in_own).await.unwrap();
        writer.commit(tx).await.unwrap();
        writer.enqueue_now(now).await.unwrap();
        self.written.fetch_add(KEYS, Ordering::SeqCst);
    }

    /// The next message of each key, by INSERT, as a program of any language writes them that has counted the shards when it began.
    async fn insert_round(&self, db: &DatabaseConnection, number: usize) {
        let shards = ShardCount::new(16).unwrap();
        for key in 0..KEYS / 8 {
            let key = format!("inserted-{key}");
            let (id, shard) = (Uuid::now_v7(), shards.shard_of_bytes(key.as_bytes()).number());
            let [now, blob] = match db.get_database_backend() {
                sea_orm::DbBackend::Sqlite => {
                    ["CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)", "X"]
                }
                _ => ["UTC_TIMESTAMP(6)", "X"],
            };
            let id = format!("{blob}'{}'", id.simple());
            let payload = format!("{key} {number}").bytes().map(|b| format!("{b:02x}")).collect::<String>();
            let tx = match db.get_database_backend() {
                sea_orm::DbBackend::Sqlite => {
                    let mode = sea_orm::SqliteTransactionMode::Immediate;
                    let options = sea_orm::TransactionOptions {
                        sqlite_transaction_mode: Some(mode),
                        ..Default::default()
                    };
                    db.begin_with_options(options).await.unwrap()
                }
                _ => db.begin().await.unwrap(),
            };
            let message = format!(
                "INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at) \
                 VALUES ({id}, '{QUEUE}', {shard}, '{key}', NULL, 'text/plain', X'{payload}', {now})"
            );
            let entry = format!(
                "INSERT INTO claimstream_queue (queue, shard, available_at, id) VALUES ('{QUEUE}', {shard}, {now}, {id})"
            );
            tx.execute_unprepared(&message).await.unwrap();
            tx.execute_unprepared(&entry).await.unwrap();
            tx.commit().await.unwrap();
            self.written.fetch_add(1, Ordering::SeqCst);
        }
    }
}
