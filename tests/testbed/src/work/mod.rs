//! Messages, relays and effects under faults: what the suite and the bench make of them, and what came of each message.

mod producer;
mod relays;
mod tally;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use claimstream_domain::QueueName;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, StrategyChoice};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, Statement};
use tokio::{sync::watch, task::JoinHandle};

pub use tally::{Figures, Tally};

/// Anything that went wrong, as a sentence.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How messages are claimed: one of the strategies, or `lock_guarded`, which is `preemptive_update` behind a lock in the database.
pub const STRATEGIES: [&str; 4] = ["skip_locked", "preemptive_update", "shard_lease", LOCK_GUARDED];

const LOCK_GUARDED: &str = "lock_guarded";
const QUEUE: &str = "faults";

/// What is to be done, and where.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One of [`STRATEGIES`].
    pub strategy: &'static str,
    /// The URL of the node that each relay is connected to.
    pub relays: Vec<String>,
    /// The URLs of the nodes at which messages are enqueued in turn.
    pub producers: Vec<String>,
    /// How long a lease lasts.
    pub lease: Duration,
    /// How long after a message the next one is enqueued.
    pub every: Duration,
}

/// A producer and relays that work; each message has its effect through the inbox.
pub struct Work {
    tally: Arc<Tally>,
    stop_producing: watch::Sender<bool>,
    stop_relays: watch::Sender<bool>,
    producing: JoinHandle<()>,
    relays: Vec<JoinHandle<Result<(), Failure>>>,
}

impl Work {
    /// What is left without an end this long after the last one is not waited for any more.
    const TIMEOUT: Duration = Duration::from_secs(60);
    const LOOK: Duration = Duration::from_millis(200);

    /// Makes the tables, in the database that the first producer's URL names, and begins.
    pub async fn start(plan: &Plan) -> Result<Self, Failure> {
        let queue = QueueName::new(QUEUE)?;
        let tally = Arc::<Tally>::default();
        let (stop_producing, producing_stops) = watch::channel(false);
        let (stop_relays, relays_stop) = watch::channel(false);
        let first = open(&plan.producers[0], plan.strategy).await?;
        make_table(first.connection()).await?;
        let mut producers = vec![first];
        for url in &plan.producers[1..] {
            producers.push(open_soon(url, plan.strategy).await?);
        }
        let mut relays = Vec::new();
        for url in &plan.relays {
            let outbox = open_soon(url, plan.strategy).await?;
            let relay =
                relays::Relaying { outbox: Arc::new(outbox), tally: tally.clone(), plan: plan.clone() };
            relays.push(tokio::spawn(relay.run(queue.clone(), relays_stop.clone())));
        }
        let producer =
            producer::Producer { outboxes: producers, queue, every: plan.every, tally: tally.clone() };
        let producing = tokio::spawn(producer.run(producing_stops));
        Ok(Self { tally, stop_producing, stop_relays, producing, relays })
    }

    /// What has come of the messages so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Enqueues no more, waits until everything has come to an end or nothing moves any more, stops the relays, and reads at `url`
    /// what has come of it all.
    pub async fn finish(self, url: &str) -> Result<Figures, Failure> {
        let _ = self.stop_producing.send(true);
        self.producing.await?;
        let db = sea_orm::Database::connect(url).await?;
        drain(&db).await;
        let _ = self.stop_relays.send(true);
        for relay in self.relays {
            relay.await??;
        }
        let effects = effects(&db).await?;
        let left = number(&db, "SELECT COUNT(*) FROM claimstream_queue").await?;
        let dead = number(&db, "SELECT COUNT(*) FROM claimstream_dead").await?;
        db.close().await?;
        Ok(self.tally.figures(&effects, left, dead))
    }
}

/// Waits until nothing is left in the queue, or nothing moves any more.
async fn drain(db: &DatabaseConnection) {
    let (mut depth, mut moved) = (i64::MAX, Instant::now());
    while depth > 0 && moved.elapsed() < Work::TIMEOUT {
        if let Ok(now) = number(db, "SELECT COUNT(*) FROM claimstream_queue").await
            && now < depth
        {
            (depth, moved) = (now, Instant::now());
        }
        tokio::time::sleep(Work::LOOK).await;
    }
}

/// Opens an outbox as a service would.
async fn open(url: &str, strategy: &str) -> Result<SeaOrmOutbox, Failure> {
    let strategy: StrategyChoice = match strategy {
        LOCK_GUARDED => "preemptive_update",
        strategy => strategy,
    }
    .parse()?;
    let options = OpenOptions {
        strategy,
        max_connections: 6,
        relay_connections: 4,
        acquire_timeout: Duration::from_secs(2),
        ..OpenOptions::default()
    };
    Ok(SeaOrmOutbox::open(url, options).await?)
}

/// The same on a node that may see the tables a little later.
async fn open_soon(url: &str, strategy: &str) -> Result<SeaOrmOutbox, Failure> {
    const TRIES: u32 = 50;
    let mut tried = 0;
    loop {
        match open(url, strategy).await {
            Err(_) if tried < TRIES => tokio::time::sleep(Duration::from_millis(100)).await,
            opened => return opened,
        }
        tried += 1;
    }
}

/// The table of effects takes the same message as often as it comes: what comes twice is seen.
async fn make_table(db: &DatabaseConnection) -> Result<(), DbErr> {
    let create = "CREATE TABLE fault_effect (
        n BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, message CHAR(36) NOT NULL, PRIMARY KEY (n), KEY of_message (message)
    ) ENGINE = InnoDB";
    db.execute_unprepared(create).await.map(|_| ())
}

/// The messages of all effects.
async fn effects(db: &DatabaseConnection) -> Result<Vec<uuid::Uuid>, Failure> {
    let asked = Statement::from_string(DbBackend::MySql, "SELECT CAST(message AS CHAR) FROM fault_effect");
    let rows = db.query_all_raw(asked).await?;
    rows.iter().map(|row| Ok(row.try_get_by_index::<String>(0)?.parse()?)).collect()
}

async fn number(db: &DatabaseConnection, sql: &str) -> Result<i64, Failure> {
    let row = db.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await?;
    Ok(row.ok_or("no answer")?.try_get_by_index(0)?)
}
