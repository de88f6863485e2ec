//! Futures dropped at every await while others work beside them: nothing acknowledged is lost, nothing stays open.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use claimstream::Compose;
use claimstream_domain::{
    ClaimRequest, Claimed, Disposition, Lease, MessageId, NewMessage, QueueName, Receipt, Settled, Settlement,
};
use claimstream_ports::{Enqueue, LockingStrategy, Settlements};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use futures::future::{join_all, try_join_all};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, DbBackend, Statement,
    TransactionTrait,
};
use uuid::Uuid;

use crate::{
    Fixture, Instance, Ports, Server, Suite,
    backend::SeaOrmBackend,
    claims::locks::fresh_transactions,
    fixture::{Cut, Random},
    ids,
    suite::STUCK,
};

const DROPS_OF_EACH: usize = 700;
const CONNECTIONS: u32 = 8;
const LEASE: Duration = Duration::from_secs(2);
const PROMPTLY: Duration = Duration::from_secs(5);
const BITES: usize = 2_000;

/// Adds the drops on every server that is here, and the proof that they show what a plain pool loses.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let (name, plain) = (server.name, url.clone());
        let dropped = format!("{name}::cancellation::a_dropped_future_loses_nothing");
        suite.add_async_trial(&dropped, async move {
            tokio::time::timeout(STUCK, drop_futures(server, &url)).await.expect("not stuck");
        });
        let bites = format!("{name}::cancellation::a_plain_pool_loses_an_acknowledged_write");
        suite.add_async_trial(&bites, async move {
            tokio::time::timeout(STUCK, bite(server, &plain)).await.expect("not stuck");
        });
    }
}

async fn drop_futures(server: Server, url: &str) {
    let backend = SeaOrmBackend::server(server.name, url, "auto");
    let url = backend.fresh_database().await.expect("a database");
    let options = || OpenOptions {
        max_connections: CONNECTIONS,
        relay_connections: CONNECTIONS,
        ..OpenOptions::default()
    };
    let outbox = SeaOrmOutbox::open(&url, options()).await.expect("open");
    let other = SeaOrmOutbox::open(&url, options()).await.expect("open");
    let load = Arc::new(Load::new(outbox, Fixture::fresh_queue()));
    load.clone().run().await;
    let open = load.open_after_a_while(other.connection()).await;
    let dead = load.dead_slots(other.connection()).await;
    let (left, drained) = load.drain(other.connection()).await;
    let lost = load.lost(other.connection()).await;
    let drops = load.drops();
    let (acknowledged, settled) = load.known().counts();
    println!(
        "cancellation: {}: drops {drops:?}, {} in all; {acknowledged} acknowledged, {lost} lost, {settled} settled \
         once; {open} open, {dead} dead slots; {left} left and {drained} drained",
        server.name,
        drops.values().sum::<usize>(),
    );
    assert!(drops.values().all(|drops| *drops >= DROPS_OF_EACH), "too few drops of something: {drops:?}");
    assert!(drops.values().sum::<usize>() >= 4_000, "too few drops");
    assert_eq!((lost, open, dead), (0, 0, 0), "lost, open, dead slots");
    assert_eq!(left, drained, "not everything that was left could be claimed");
}

/// What is cut short.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Operation {
    Claim,
    Settle,
    Renew,
    EnqueueNow,
    /// A caller's own, from its beginning to its end.
    Transaction,
    /// Only the end of one.
    Commit,
}

impl Operation {
    const ALL: [Self; 6] =
        [Self::Claim, Self::Settle, Self::Renew, Self::EnqueueNow, Self::Transaction, Self::Commit];

    /// As many polls as it has awaits, or a few more.
    fn polls(self) -> usize {
        match self {
            Self::Transaction => 15,
            _ => 2,
        }
    }
}

/// One outbox on which futures are dropped and plain work goes on.
struct Load {
    outbox: SeaOrmOutbox,
    instance: Instance,
    drops: [AtomicUsize; Operation::ALL.len()],
    done: AtomicBool,
    known: Mutex<Known>,
}

/// What the store has answered.
#[derive(Default)]
struct Known {
    acknowledged: HashSet<MessageId>,
    settled: HashMap<MessageId, Receipt>,
    /// Messages whose settlement was cut short; it may have taken effect.
    maybe_settled: HashSet<MessageId>,
}

impl Known {
    fn counts(&self) -> (usize, usize) {
        (self.acknowledged.len(), self.settled.len())
    }
}

impl Load {
    fn new(outbox: SeaOrmOutbox, queue: QueueName) -> Self {
        let instance = Instance::new(1, Ports::of(outbox.clone()), queue, 10);
        let (drops, done) = (Default::default(), AtomicBool::new(false));
        Self { outbox, instance, drops, done, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drops(&self) -> BTreeMap<Operation, usize> {
        let counted = self.drops.iter().map(|drops| drops.load(Ordering::SeqCst));
        Operation::ALL.into_iter().zip(counted).collect()
    }

    async fn run(self: Arc<Self>) {
        let droppers = (0..8).map(|seed| tokio::spawn(self.clone().drop_until_enough(seed)));
        let plain: Vec<_> = (0..2).map(|_| tokio::spawn(self.clone().work())).collect();
        try_join_all(droppers.collect::<Vec<_>>()).await.expect("a dropper");
        self.done.store(true, Ordering::SeqCst);
        try_join_all(plain).await.expect("plain work");
    }

    async fn drop_until_enough(self: Arc<Self>, seed: u64) {
        let mut random = Random(seed + 1);
        let enough = |n: usize| self.drops[n].load(Ordering::SeqCst) >= DROPS_OF_EACH;
        let all = 0..Operation::ALL.len();
        while all.clone().any(|n| !enough(n)) {
            for n in all.clone().filter(|n| !enough(*n)) {
                let operation = Operation::ALL[n];
                let cut = Cut { polls: 1 + random.below(operation.polls()), late: random.below(2) == 0 };
                if self.cut_short(operation, cut).await {
                    self.drops[n].fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    }

    /// Runs an operation until it is cut while it waits; false if it came to its end before, or had nothing to do.
    async fn cut_short(&self, operation: Operation, cut: Cut) -> bool {
        match operation {
            Operation::Claim => cut.short(self.outbox.claim(&self.request())).await.is_none(),
            Operation::Settle => {
                let Some(claimed) = self.claim_some().await else { return false };
                let batch = done(&claimed);
                let settled = cut.short(self.outbox.settle(&batch)).await;
                match &settled {
                    Some(settled) => self.note_settled(&claimed, settled.as_ref().expect("settle")),
                    None => self.known().maybe_settled.extend(ids(&claimed)),
                }
                settled.is_none()
            }
            Operation::Renew => {
                let Some(claimed) = self.claim_some().await else { return false };
                let receipts: Vec<_> = claimed.into_iter().map(|c| c.receipt).collect();
                let renewed = cut.short(self.outbox.renew(&receipts, lease())).await;
                renewed.map(|renewed| renewed.expect("renew")).is_none()
            }
            Operation::EnqueueNow => {
                let message = self.message();
                let enqueued = cut.short(self.outbox.enqueue_now(std::slice::from_ref(&message))).await;
                self.note_enqueued(&message, enqueued.map(|enqueued| drop(enqueued.expect("enqueue"))))
            }
            Operation::Transaction => {
                let message = self.message();
                let transaction = async { self.transaction(&message).await.commit().await };
                let committed = cut.short(transaction).await;
                self.note_enqueued(&message, committed.map(|committed| committed.expect("commit")))
            }
            Operation::Commit => {
                let message = self.message();
                let committed = cut.short(self.transaction(&message).await.commit()).await;
                self.note_enqueued(&message, committed.map(|committed| committed.expect("commit")))
            }
        }
    }

    /// Enqueues in a transaction of the caller's own, which is left open.
    async fn transaction(&self, message: &NewMessage) -> DatabaseTransaction {
        let tx = self.outbox.begin().await.expect("begin");
        self.outbox.enqueue(&tx, std::slice::from_ref(message)).await.expect("enqueue");
        tx
    }

    /// Plain work on the same pool: a write without a transaction, a claim, a settlement.
    async fn work(self: Arc<Self>) {
        while !self.done.load(Ordering::SeqCst) {
            self.write().await;
            let claimed = self.outbox.claim(&self.request()).await.expect("claim");
            self.settle(&claimed).await;
        }
    }

    async fn write(&self) -> MessageId {
        let message = self.message();
        let enqueued = self.outbox.enqueue_now(std::slice::from_ref(&message)).await;
        enqueued.expect("an acknowledged write");
        self.note_enqueued(&message, Some(()));
        message.id
    }

    async fn settle(&self, claimed: &[Claimed]) {
        let settled = self.outbox.settle(&done(claimed)).await.expect("settle");
        self.note_settled(claimed, &settled);
    }

    /// Claims something, unless others were faster.
    async fn claim_some(&self) -> Option<Vec<Claimed>> {
        self.write().await;
        let claimed = self.outbox.claim(&self.request()).await.expect("claim");
        (!claimed.is_empty()).then_some(claimed)
    }

    fn request(&self) -> ClaimRequest {
        self.instance.request(3, LEASE)
    }

    fn message(&self) -> NewMessage {
        NewMessage::json(self.instance.queue().clone(), &"cut").expect("a message")
    }

    /// Notes an acknowledgement; tells whether the future was cut.
    fn note_enqueued(&self, message: &NewMessage, acknowledged: Option<()>) -> bool {
        if acknowledged.is_some() {
            self.known().acknowledged.insert(message.id);
        }
        acknowledged.is_none()
    }

    fn note_settled(&self, claimed: &[Claimed], settled: &[Settled]) {
        for (claimed, settled) in claimed.iter().zip(settled) {
            if *settled == Settled::Accepted {
                let before = self.known().settled.insert(claimed.message.id, claimed.receipt.clone());
                assert_eq!(before, None, "settled twice");
            }
        }
    }

    /// How many transactions and busy connections there are when there should be none any more.
    async fn open_after_a_while(&self, other: &DatabaseConnection) -> usize {
        let pools = [self.outbox.connection(), self.outbox.relay_connection()];
        let pools = pools.map(|pool| pool.get_mysql_connection_pool());
        let (begun, mut calm) = (Instant::now(), 0);
        loop {
            let busy: usize = pools.iter().map(|pool| pool.size() as usize - pool.num_idle()).sum();
            let open = fresh_transactions(other, OPEN).await.len();
            calm = if busy + open == 0 { calm + 1 } else { 0 };
            if calm == 3 || begun.elapsed() > PROMPTLY + Duration::from_secs(1) {
                return busy + open;
            }
        }
    }

    /// How many connections cannot be used: to begin on, all at once, and to write on for others to see.
    async fn dead_slots(&self, other: &DatabaseConnection) -> usize {
        let begins = (0..CONNECTIONS).map(|_| tokio::time::timeout(PROMPTLY, self.outbox.begin()));
        let begun = join_all(begins).await;
        let alive: Vec<_> = begun.into_iter().flatten().flatten().collect();
        let dead = CONNECTIONS as usize - alive.len();
        for tx in alive {
            tx.rollback().await.expect("rollback");
        }
        let claims = join_all((0..CONNECTIONS).map(|_| async {
            tokio::time::timeout(PROMPTLY, self.outbox.claim(&self.request())).await.is_ok_and(|c| c.is_ok())
        }));
        let failed = claims.await.into_iter().filter(|claimed| !claimed).count();
        let written = join_all((0..4 * CONNECTIONS).map(|_| self.write())).await;
        let bodies = ids_in(other, "claimstream_message").await;
        dead + failed + written.iter().filter(|id| !bodies.contains(id)).count()
    }

    /// Claims and settles all that is left when the last lease ends: how many there were, and how many came.
    async fn drain(&self, other: &DatabaseConnection) -> (usize, usize) {
        let left = ids_in(other, "claimstream_queue").await;
        let (begun, mut drained) = (Instant::now(), HashSet::new());
        while drained.len() < left.len() && begun.elapsed() < LEASE + 4 * PROMPTLY {
            let request = self.instance.request(100, Duration::from_secs(60));
            let claimed = self.outbox.claim(&request).await.expect("claim");
            for id in ids(&claimed) {
                assert!(drained.insert(id), "claimed twice: {id:?}");
            }
            self.settle(&claimed).await;
            if claimed.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        assert!(drained.is_subset(&left), "something else was claimed");
        assert!(ids_in(other, "claimstream_queue").await.is_empty(), "something is left");
        (left.len(), drained.len())
    }

    /// Acknowledged writes that are nowhere, or that were finished by nobody.
    async fn lost(&self, other: &DatabaseConnection) -> usize {
        let bodies = ids_in(other, "claimstream_message").await;
        let known = self.known();
        let finished = |id| known.settled.contains_key(id) || known.maybe_settled.contains(id);
        known.acknowledged.iter().filter(|id| !bodies.contains(id) || !finished(id)).count()
    }
}

/// On a plain pool, a dropped `begin` leaves a transaction open, and a later write is acknowledged and lost.
async fn bite(server: Server, url: &str) {
    let backend = SeaOrmBackend::server(server.name, url, "auto");
    let url = backend.fresh_database().await.expect("a database");
    let mut options = ConnectOptions::new(url.clone());
    options.max_connections(1).sqlx_logging(false);
    let plain = Database::connect(options).await.expect("a plain pool");
    let other = Database::connect(&url).await.expect("another pool");
    plain.execute_unprepared("CREATE TABLE written (n INT PRIMARY KEY)").await.expect("a table");
    for n in 1..=BITES {
        let cut = Cut { polls: 1 + n % 4, late: n % 8 < 4 };
        drop(cut.short(plain.begin()).await);
        let write = format!("INSERT INTO written VALUES ({n})");
        plain.execute_unprepared(&write).await.expect("an acknowledged write");
        let read = format!("SELECT n FROM written WHERE n = {n}");
        let read = Statement::from_string(DbBackend::MySql, read);
        if other.query_one_raw(read).await.expect("a read").is_none() {
            println!(
                "cancellation: {}: a plain pool lost an acknowledged write after {n} drops",
                server.name
            );
            return;
        }
    }
    panic!("{BITES} drops of begin on a plain pool lost nothing: the drops show nothing");
}

const OPEN: &str = "SELECT t.trx_id FROM information_schema.innodb_trx t \
                    JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
                    WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()";

async fn ids_in(db: &DatabaseConnection, table: &str) -> HashSet<MessageId> {
    let all = Statement::from_string(DbBackend::MySql, format!("SELECT id FROM {table}"));
    let found = db.query_all_raw(all).await.expect("a read");
    let id = |bytes: Vec<u8>| MessageId::new(Uuid::from_slice(&bytes).expect("sixteen bytes"));
    found.iter().map(|row| id(row.try_get_by_index(0).expect("an id"))).collect()
}

fn done(claimed: &[Claimed]) -> Vec<Settlement> {
    let done = |c: &Claimed| Settlement {
        receipt: c.receipt.clone(),
        disposition: Disposition::Done { emit: vec![] },
    };
    claimed.iter().map(done).collect()
}

fn lease() -> Lease {
    Lease::new(LEASE).expect("a lease")
}
