mod ledger;
mod relays;
mod writers;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use claimstream_domain::{MessageId, NewMessage, OrderingKey, Payload, QueueName, ShardCount};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::eventually;
use sea_orm::{ConnectionTrait, Database, Statement};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use uuid::Uuid;

use self::{
    ledger::Ledger,
    relays::{Relaying, Running},
    writers::Hand,
};
use crate::database_server::Scratch;

const QUEUE: &str = "orders";
/// Written before anything is claimed, so that there is something to move.
const BACKLOG: usize = 20;

/// Where the queue is.
pub(crate) enum Place {
    File(TempDir),
    Server(Scratch),
}

pub(crate) async fn place(url: Option<String>) -> Place {
    match url {
        None => Place::File(tempfile::tempdir().unwrap()),
        Some(url) => Place::Server(Scratch::on(url).await),
    }
}

impl Place {
    pub(crate) fn url(&self) -> String {
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

pub(crate) fn message(key: &str, number: usize) -> NewMessage {
    let payload = Payload::new("text/plain", format!("{key} {number}").into_bytes()).unwrap();
    let id = MessageId::new(Uuid::now_v7());
    NewMessage::new(id, QueueName::new(QUEUE).unwrap(), payload).ordered_by(OrderingKey::new(key).unwrap())
}

/// Writes 500 messages in one transaction.
pub(super) async fn enqueue_many(outbox: &SeaOrmOutbox) {
    let all: Vec<NewMessage> = (0..500).map(|number| message(&format!("customer-{number:011}"), 1)).collect();
    outbox.enqueue_now(&all).await.unwrap();
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

/// How and where messages are written and claimed.
#[derive(Clone)]
pub(super) struct Plan {
    /// One of the strategies, or `lock_guarded`, which is `preemptive_update` behind a lock in the database.
    pub(super) strategy: &'static str,
    pub(super) order: &'static str,
    /// Where each of the two writers writes, the one that inserts rows last.
    pub(super) writers: [String; 2],
    /// Where each relay claims.
    pub(super) relays: Vec<String>,
    /// How long claims outlive a relay that is killed.
    pub(super) lease: Duration,
    /// How often a transaction is begun again that a node has rolled back.
    pub(super) tries: u32,
    pub(super) handling: Handling,
}

/// What is special about handlers.
#[derive(Clone, Copy, Default)]
pub(super) struct Handling {
    /// Each message of this kind fails at first: those whose number leaves 5 when divided by it.
    pub(super) one_fails_of: Option<usize>,
    pub(super) slow: Option<Slow>,
}

/// How an early message of [`SLOW`] is handled.
#[derive(Clone, Copy)]
pub(super) struct Slow {
    pub(super) takes: Duration,
    /// How often its claim is renewed meanwhile; without that it ends, and the message comes again.
    pub(super) renewed: Option<Duration>,
}

/// A key that moves when 16 shards become 64, out of one of those that the command empties first.
const SLOW: &str = "customer-5";

fn slow_message() -> ledger::Message {
    (SLOW.into(), 3)
}

impl Plan {
    /// Two relays and two writers, all at one place.
    pub(super) fn at(url: &str, strategy: &'static str, order: &'static str) -> Self {
        Self {
            strategy,
            order,
            writers: [url.to_owned(), url.to_owned()],
            relays: vec![url.to_owned(), url.to_owned()],
            lease: Duration::from_secs(30),
            tries: 1,
            handling: Handling::default(),
        }
    }

    fn options(&self) -> OpenOptions {
        let strategy = match self.strategy {
            "lock_guarded" => "preemptive_update",
            strategy => strategy,
        };
        OpenOptions {
            strategy: strategy.parse().unwrap(),
            order: self.order.parse().unwrap(),
            ..OpenOptions::default()
        }
    }
}

/// Writers that know the old number of shards, and relays that claim what they write.
pub(super) struct Orders {
    place: Place,
    plan: Plan,
    written: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    ledger: Arc<Ledger>,
    writers: Vec<JoinHandle<()>>,
    relays: Vec<Running>,
    begun: usize,
}

impl Orders {
    pub(super) async fn begin(place: Place, plan: Plan) -> Self {
        let (written, stop) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let writer = SeaOrmOutbox::open(&plan.writers[0], plan.options()).await.unwrap();
        let by_sql = Database::connect(&plan.writers[1]).await.unwrap();
        let hand = Hand { written: Arc::clone(&written), tries: plan.tries };
        for number in 1..=BACKLOG {
            hand.write_round(&writer, number).await;
            hand.insert_round(&by_sql, number).await;
        }
        let library = hand.clone().keep_writing(&stop, move |hand, number| {
            let writer = writer.clone();
            async move { hand.write_round(&writer, BACKLOG + number).await }
        });
        let rows = hand.keep_writing(&stop, move |hand, number| {
            let by_sql = by_sql.clone();
            async move { hand.insert_round(&by_sql, BACKLOG + number).await }
        });
        let ledger = Arc::new(Ledger::of(plan.order));
        let mut orders = Self {
            place,
            plan,
            written,
            stop,
            ledger,
            writers: vec![library, rows],
            relays: Vec::new(),
            begun: 0,
        };
        for url in orders.plan.relays.clone() {
            orders.begin_relay(url).await;
        }
        orders
    }

    async fn begin_relay(&mut self, url: String) {
        self.begun += 1;
        let relaying =
            Relaying { number: self.begun, url, plan: self.plan.clone(), ledger: Arc::clone(&self.ledger) };
        self.relays.push(relaying.begin().await);
    }

    /// Waits until the handler of the slow message has begun.
    pub(super) async fn until_one_is_slow(&self) {
        eventually("a handler is slow", async || self.ledger.holder(&slow_message()).is_some()).await;
    }

    /// Ends a relay with all its connections, as a kill does, and begins another one: the oldest that has not the slow message in hand.
    pub(super) async fn kill_a_relay(&mut self) {
        let kept = self.ledger.holder(&slow_message());
        let place = self.relays.iter().position(|relay| Some(relay.number()) != kept).unwrap();
        let oldest = self.relays.remove(place);
        let (number, url) = (oldest.number(), oldest.url().to_owned());
        oldest.kill().await;
        self.ledger.is_gone(number);
        self.begin_relay(url).await;
    }

    /// Waits until everything is handled, and says how much it was.
    pub(super) async fn end(self) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        for writer in self.writers {
            writer.await.unwrap();
        }
        let written = self.written.load(Ordering::SeqCst);
        eventually("everything is handled", async || self.ledger.done() >= written).await;
        let url = self.place.url();
        eventually("the queue is empty", async || left(&url).await == 0).await;
        for relay in self.relays {
            relay.end().await;
        }
        let (doubled, faults) = (self.ledger.doubled(), self.ledger.faults());
        assert_eq!(
            (self.ledger.done(), doubled),
            (written, Vec::new()),
            "of those written, and those doubled"
        );
        assert_eq!((faults.len(), faults.iter().take(10).collect::<Vec<_>>()), (0, Vec::new()));
        written
    }
}

async fn left(url: &str) -> i64 {
    let db = Database::connect(url).await.unwrap();
    let count = Statement::from_string(
        db.get_database_backend(),
        "SELECT COUNT(*) FROM claimstream_queue WHERE queue = 'orders'",
    );
    let left = db.query_one_raw(count).await.unwrap().unwrap().try_get_by_index(0).unwrap();
    db.close().await.unwrap();
    left
}
