//! Who waits for whom on real servers, which index every claim statement walks, and how many rows it locks.

mod frozen;
mod lease;
mod patience;
mod settle;

pub(crate) use settle::somebody_waits;

use std::time::{Duration, Instant};

use claimstream::Compose;
use claimstream_domain::{ClaimId, InstanceId, MessageId, NewMessage, OrderingKey, QueueName};
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbBackend, QueryResult, Statement, TransactionTrait, Value,
};
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::{
    Fixture, Instance, Ports, Server, Suite,
    backend::SeaOrmBackend,
    ids,
    statement::{Args, bind, bytes, sql},
};

const BATCH: usize = 100;
const ROUNDS: usize = 5;
/// A call that takes less has waited for no lock: the holder of one that is held ends when the call has ended, so that who
/// waits for it waits until the server gives up, which is longer.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Adds what is said about locks to every server that is here, with each strategy that it runs.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    patience::add_sqlite_to(suite);
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied() {
            let place = Place { server, strategy, url: url.clone() };
            if strategy == "shard_lease" {
                frozen::add_to(suite, &place);
                patience::add_to(suite, &place);
                lease::add_to(suite, place);
                continue;
            }
            let name = |what: &str| format!("{}::{strategy}::locks::{what}", server.name);
            let waits = place.clone();
            suite.add_async_trial(&name("a_claim_in_flight_hinders_no_producer"), async move {
                match strategy {
                    "skip_locked" => waits.steps_over().await,
                    _ => waits.takes_turns().await,
                }
            });
            let plans = place.clone();
            suite.add_async_trial(&name("claim_statements_walk_the_primary_key"), async move {
                plans.walks_the_primary_key().await;
            });
            settle::add_to(suite, &place);
            suite.add_async_trial(&name("a_claim_locks_little_more_than_its_batch"), async move {
                place.locks_its_batch().await;
            });
        }
    }
}

#[derive(Clone)]
struct Place {
    server: Server,
    strategy: &'static str,
    url: String,
}

/// Two instances in a database of their own, which is dropped with it.
struct Setup {
    a: SeaOrmOutbox,
    b: SeaOrmOutbox,
    _venue: SeaOrmBackend,
}

impl Place {
    async fn setup(&self) -> Setup {
        let backend = SeaOrmBackend::server(self.server.name, &self.url, self.strategy);
        let url = backend.fresh_database().await.expect("a database");
        let a = backend.open(&url, None).await.expect("open");
        Setup { a, b: backend.open(&url, None).await.expect("open"), _venue: backend }
    }

    fn figure(&self, what: &str) {
        println!("locks: {} {}: {what}", self.server.name, self.strategy);
    }

    /// While A holds its claim transaction, B gets the next messages and a producer inserts, both at once.
    async fn steps_over(&self) {
        let setup = self.setup().await;
        let (mut claims, mut inserts) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let shard = setup.six_messages().await;
            let open = setup.a.connection().begin().await.expect("begin");
            let held = rows(&open, sql("claim/lock", &shard.args(3))).await;
            let held: Vec<_> = held.iter().map(id).collect();
            assert_eq!(held, shard.ids[..3]);
            let begun = Instant::now();
            assert_eq!(ids(&shard.claimer.claim(3).await), shard.ids[3..]);
            claims.push(begun.elapsed());
            inserts.push(setup.produce(&shard).await);
            open.rollback().await.expect("rollback");
            assert_eq!(shard.claim_within(3).await, shard.ids[..3]);
        }
        self.at_once("a claim beside an open one", &claims);
        self.at_once("an insert beside an open claim", &inserts);
    }

    /// While A holds its claim transaction, a producer inserts at once; B gets its messages when A is done.
    async fn takes_turns(&self) {
        let setup = self.setup().await;
        let (mut claims, mut inserts) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let shard = setup.six_messages().await;
            let open = setup.a.connection().begin().await.expect("begin");
            let taken = open.execute_raw(sql("claim/take", &shard.args(3))).await.expect("claim_take");
            assert_eq!(taken.rows_affected(), 3);
            let claimer = shard.claimer.clone();
            let claim = tokio::spawn(async move { claimer.claim(3).await });
            inserts.push(setup.produce(&shard).await);
            let begun = Instant::now();
            let commits = round % 2 == 0;
            if commits { open.commit().await } else { open.rollback().await }.expect("an end");
            let got = ids(&claim.await.expect("a claim"));
            claims.push(begun.elapsed());
            assert_eq!(got.len(), 3, "B got {got:?}");
            let of_a = got.iter().any(|id| shard.ids[..3].contains(id));
            assert!(!(commits && of_a), "B got {got:?}, of which A has some: {:?}", shard.ids);
        }
        self.at_once("a claim after the end of the one before it", &claims);
        self.at_once("an insert beside an open claim", &inserts);
    }

    /// A lock would hold up every round; as the machine is shared, something else may hold up one, which is shown.
    fn at_once(&self, what: &str, took: &[Duration]) {
        let mut sorted = took.to_vec();
        sorted.sort();
        let (median, slow) = (sorted[ROUNDS / 2], sorted.iter().filter(|took| **took >= AT_ONCE).count());
        self.figure(&format!("{what} took {median:?} in the median of {ROUNDS}, {slow} slow: {took:?}"));
        assert!(median < AT_ONCE, "{what} took {median:?} in the median");
        assert!(slow <= 1, "{what} was slow in {slow} rounds of {ROUNDS}");
    }

    async fn walks_the_primary_key(&self) {
        let setup = self.setup().await;
        let mut names = vec![
            "claim/take",
            "claim/read",
            "claim/peek",
            "settle/done",
            "settle/find",
            "settle/standing",
            "settle/renew",
        ];
        if self.strategy == "skip_locked" {
            names.extend(["claim/lock", "claim/mark"]);
        }
        let args = self.args_of_a_claim(&setup).await;
        let mut wrong = Vec::new();
        for name in names {
            let plan = setup.explain(sql(name, &args)).await;
            self.figure(&format!("{name}: {plan:?}"));
            if !walks(&plan) {
                wrong.push(format!("{name}: {plan:?}"));
            }
        }
        let sorting = "SELECT id FROM claimstream_queue WHERE queue = :queue ORDER BY attempts, id LIMIT 9";
        assert!(!walks(&setup.explain(bind(sorting, &args)).await), "a sort goes unseen");
        assert!(wrong.is_empty(), "not along the primary key, or sorted: {wrong:#?}");
    }

    /// Values for every statement, taken from a real claim out of many messages.
    async fn args_of_a_claim(&self, setup: &Setup) -> Args {
        let queue = setup.fill().await;
        let claimed = instance(2, &setup.b, &queue).claim(BATCH as u32).await;
        let receipt = &claimed[0].receipt;
        let ids = claimed.iter().filter(|c| c.receipt.shard == receipt.shard);
        let mut args = args(&queue, receipt.shard.number(), receipt.claim.uuid(), BATCH);
        args.extend([
            ("ids", ids.map(|c| bytes(c.message.id.uuid())).collect()),
            ("shards", (0..4_u16).map(Value::from).collect()),
            ("lease_end", vec![receipt.locator.0.into()]),
            ("new_end", vec![(receipt.locator.0 + 1_000_000).into()]),
        ]);
        if self.strategy == "skip_locked" {
            let fresh = self::args(&queue, receipt.shard.number(), Uuid::from_u128(7), BATCH);
            let locked = rows(setup.a.connection(), sql("claim/lock", &fresh)).await;
            let due = |row: &QueryResult| vec![row.try_get_by_index::<i64>(1).expect("due_at").into()];
            args.extend([("first", due(&locked[0])), ("last", due(&locked[locked.len() - 1]))]);
        }
        args
    }

    async fn locks_its_batch(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let open = setup.a.connection().begin().await.expect("begin");
        let thread = setup.thread(&open).await;
        let mut args = args(&queue, 1, Uuid::from_u128(9), BATCH);
        if self.strategy == "skip_locked" {
            let locked = rows(&open, sql("claim/lock", &args)).await;
            assert_eq!(locked.len(), BATCH);
            self.few(setup.rows_locked(thread).await, "claim_lock");
            let due = |n: usize| vec![locked[n].try_get_by_index::<i64>(1).expect("due_at").into()];
            let ids = locked.iter().map(|row| bytes(id(row).uuid())).collect();
            args.extend([("first", due(0)), ("last", due(BATCH - 1)), ("ids", ids)]);
            assert_eq!(run(&open, sql("claim/mark", &args)).await, BATCH as u64);
            self.few(setup.rows_locked(thread).await, "claim_mark");
        } else {
            assert_eq!(run(&open, sql("claim/take", &args)).await, BATCH as u64);
            self.few(setup.rows_locked(thread).await, "claim_take");
        }
        open.rollback().await.expect("rollback");
    }

    fn few(&self, locked: u64, after: &str) {
        self.figure(&format!("{locked} rows locked after {after} of {BATCH}"));
        assert!((1..=2 * BATCH as u64 + 2).contains(&locked), "{locked} rows locked after {after}");
    }
}

impl Setup {
    /// Six messages in one shard of a new queue, and an instance on B that has no first call before it.
    async fn six_messages(&self) -> Shard {
        let queue = Fixture::fresh_queue();
        let claimer = instance(2, &self.b, &queue);
        assert!(claimer.claim(1).await.is_empty());
        let messages: Vec<_> = (0..6).map(|n| message(&queue, n)).collect();
        self.a.enqueue_now(&messages).await.expect("enqueue");
        let sql = "SELECT id, shard FROM claimstream_queue WHERE queue = :queue ORDER BY available_at, id";
        let found = rows(self.a.connection(), bind(sql, &args(&queue, 0, Uuid::nil(), 0))).await;
        let shards: Vec<u16> = found.iter().map(|row| row.try_get_by_index(1).expect("a shard")).collect();
        assert!(shards.len() == 6 && shards.iter().all(|shard| *shard == shards[0]), "{shards:?}");
        Shard { queue, number: shards[0], ids: found.iter().map(id).collect(), claimer }
    }

    /// How long a producer takes to insert into the shard.
    async fn produce(&self, shard: &Shard) -> Duration {
        let begun = Instant::now();
        self.b.enqueue_now(&[message(&shard.queue, 7)]).await.expect("enqueue");
        begun.elapsed()
    }

    /// A queue with 5,000 due messages in 4 shards.
    async fn fill(&self) -> QueueName {
        let queue = Fixture::fresh_queue();
        let messages: Vec<_> =
            (0..5_000).map(|n| NewMessage { ordering_key: None, ..message(&queue, n) }).collect();
        self.a.enqueue_now(&messages).await.expect("enqueue");
        let db = self.a.connection();
        rows(db, Statement::from_string(DbBackend::MySql, "ANALYZE TABLE claimstream_queue")).await;
        queue
    }

    async fn explain(&self, statement: Statement) -> Vec<Step> {
        let sql = format!("EXPLAIN FORMAT=TRADITIONAL {}", statement.sql);
        let found = rows(self.a.connection(), Statement { sql, ..statement }).await;
        let step = |row: &QueryResult| Step {
            table: text(row, "table"),
            key: text(row, "key"),
            extra: text(row, "Extra"),
        };
        found.iter().map(step).collect()
    }

    async fn thread(&self, open: &DatabaseTransaction) -> u64 {
        let asked = Statement::from_string(DbBackend::MySql, "SELECT CONNECTION_ID()");
        rows(open, asked).await.remove(0).try_get_by_index::<u64>(0).expect("an id")
    }

    async fn rows_locked(&self, thread: u64) -> u64 {
        let sql = "SELECT CAST(trx_rows_locked AS SIGNED) FROM information_schema.innodb_trx \
                   WHERE trx_mysql_thread_id = ";
        let found = fresh_transactions(self.b.connection(), &format!("{sql}{thread}")).await;
        found.first().expect("an open transaction").try_get_by_index::<i64>(0).expect("a number") as u64
    }
}

/// Asks about open transactions.
///
/// The server answers from a copy that it renews when nobody has read it for 100 ms, so readers of this process take
/// turns and wait that long. MySQL fails to answer while a statement with binary values is under way anywhere.
pub(crate) async fn fresh_transactions(db: &impl ConnectionTrait, sql: &str) -> Vec<QueryResult> {
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    let mut failed = None;
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_millis(150)).await;
        match db.query_all_raw(Statement::from_string(DbBackend::MySql, sql)).await {
            Ok(found) => return found,
            Err(error) if error.to_string().contains("Cannot convert string") => failed = Some(error),
            Err(error) => panic!("{error}: {sql}"),
        }
    }
    panic!("{failed:?}: {sql}")
}

/// What stands in one shard of a queue, and who claims from it.
struct Shard {
    queue: QueueName,
    number: u16,
    ids: Vec<MessageId>,
    claimer: Instance,
}

impl Shard {
    fn args(&self, limit: usize) -> Args {
        args(&self.queue, self.number, ClaimId::new(InstanceId(1), 1).uuid(), limit)
    }

    /// Claims until there are `count` messages; a watermark may hide them for two seconds.
    async fn claim_within(&self, count: usize) -> Vec<MessageId> {
        let (begun, mut got) = (Instant::now(), Vec::new());
        while got.len() < count && begun.elapsed() < Duration::from_secs(5) {
            got.extend(ids(&self.claimer.claim((count - got.len()) as u32).await));
        }
        got
    }
}

/// A line of a plan.
#[derive(Debug)]
struct Step {
    table: String,
    key: String,
    extra: String,
}

/// Whether the queue's table is read along its primary key and nothing is sorted.
fn walks(plan: &[Step]) -> bool {
    let queue: Vec<_> = plan.iter().filter(|s| ["q", "claimstream_queue"].contains(&&*s.table)).collect();
    let sorts = plan.iter().any(|step| step.extra.contains("filesort"));
    !queue.is_empty() && queue.iter().all(|step| step.key == "PRIMARY") && !sorts
}

fn args(queue: &QueueName, shard: u16, claim: Uuid, limit: usize) -> Args {
    // A minute from now on any server, whose clock is the machine's.
    let lease_end = now_micros() + 60_000_000;
    vec![
        ("queue", vec![Value::Bytes(Some(queue.as_str().as_bytes().to_vec()))]),
        ("shard", vec![shard.into()]),
        ("claim", vec![bytes(claim)]),
        ("low", vec![0_i64.into()]),
        ("limit", vec![(limit as i64).into()]),
        ("lease_end", vec![lease_end.into()]),
        ("inline", vec![4096_i64.into()]),
    ]
}

fn now_micros() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("a clock after 1970").as_micros() as i64
}

fn id(row: &QueryResult) -> MessageId {
    let bytes: Vec<u8> = row.try_get_by_index(0).expect("an id");
    MessageId::new(Uuid::from_slice(&bytes).expect("sixteen bytes"))
}

fn text(row: &QueryResult, column: &str) -> String {
    let text = row.try_get::<Option<String>>("", column);
    let bytes = || row.try_get::<Option<Vec<u8>>>("", column).expect("a text");
    let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    text.unwrap_or_else(|_| bytes().map(lossy)).unwrap_or_default()
}

async fn rows(on: &impl ConnectionTrait, statement: Statement) -> Vec<QueryResult> {
    let sql = statement.sql.clone();
    on.query_all_raw(statement).await.unwrap_or_else(|e| panic!("{e}: {sql}"))
}

async fn run(on: &DatabaseTransaction, statement: Statement) -> u64 {
    on.execute_raw(statement).await.expect("a statement").rows_affected()
}

fn instance(id: u64, outbox: &SeaOrmOutbox, queue: &QueueName) -> Instance {
    Instance::new(id, Ports::of(outbox.clone()), queue.clone(), 10)
}

fn message(queue: &QueueName, n: usize) -> NewMessage {
    let message = NewMessage::json(queue.clone(), &n).expect("a message");
    message.ordered_by(OrderingKey::new("account-7").expect("a key"))
}
