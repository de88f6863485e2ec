use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{QueueName, ShardCount, Timestamp, notification::REQUEST_QUEUE};
use claimstream_ports::{StoreError, StoreErrorKind};
use claimstream_sea_orm::{FrozenClock, OpenOptions, Order, SeaOrmOutbox};
use futures::FutureExt;
use sea_orm::Database;
use tokio::sync::OnceCell;

use super::{
    Backend, Guard, LockBackend, NotificationBackend, ServerBackend, StepBackend, Sweeper, SweptFixture,
    TimerBackend, guard::Lock,
};
use crate::{
    Clock, Facts, Fixture, LockFixture, NotificationFixture, NotificationPorts, OpenPorts, ScratchDatabase,
    ServerFixture, SetUpEvents, StepFixture, TimerFixture, TimerPorts, databases, fixture::RepeatableRead,
    suite::Need,
};

/// A real database with a strategy, an order of keys, and a lock before its claims if there is to be one. Tests call it
/// after all of them: `shard_lease per_key`, `lock:db`.
///
/// Fixtures share a database and have a queue each, and so do those that are swept; those with notification requests, whose
/// queue has a fixed name, are lent a database each. All of them are dropped with the backend.
pub struct SeaOrmBackend {
    name: &'static str,
    strategy: &'static str,
    order: Order,
    guard: Option<Guard>,
    called: String,
    place: Place,
    has: Vec<Need>,
    shared: OnceCell<String>,
    swept: OnceCell<String>,
}

/// Where databases are made.
enum Place {
    Folder { path: PathBuf, untouched: OnceCell<PathBuf> },
    Server { url: String, made: Mutex<Vec<ScratchDatabase>> },
}

impl SeaOrmBackend {
    /// SQLite files in a temporary folder.
    pub fn sqlite(strategy: &'static str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("claimstream-{}-{}", std::process::id(), next_number()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Self::new("sqlite", strategy, Place::Folder { path: folder, untouched: OnceCell::new() })
    }

    /// A server; databases for the tests are made next to the one that the URL names.
    pub fn server(name: &'static str, url: &str, strategy: &'static str) -> Self {
        let place = Place::Server { url: url.to_owned(), made: Mutex::default() };
        Self::new(name, strategy, place)
    }

    fn new(name: &'static str, strategy: &'static str, place: Place) -> Self {
        Self {
            name,
            strategy,
            order: Order::None,
            guard: None,
            called: strategy.to_owned(),
            place,
            has: vec![],
            shared: OnceCell::new(),
            swept: OnceCell::new(),
        }
    }

    /// With this of what cases need.
    pub fn having(mut self, has: &[Need]) -> Self {
        self.has = has.to_vec();
        self
    }

    /// With messages of one key in this order.
    pub fn ordered(mut self, order: Order) -> Self {
        self.order = order;
        self.called = format!("{} {order}", self.strategy);
        self
    }

    /// With a lock before its claims.
    pub fn behind(mut self, guard: Guard) -> Self {
        self.called = guard.name().to_owned();
        self.guard = Some(guard);
        self
    }

    /// The URL of a database of its own.
    pub async fn fresh_database(&self) -> Result<String, StoreError> {
        let name = fresh_name();
        match &self.place {
            Place::Folder { path, .. } => Ok(databases::file_url(&path.join(name).with_extension("db"))),
            Place::Server { url, made } => {
                let database = ScratchDatabase::create(url, &name).await.map_err(unavailable)?;
                let fresh = database.url();
                made.lock().unwrap_or_else(PoisonError::into_inner).push(database);
                Ok(fresh)
            }
        }
    }

    /// The URL of a database as an opening with [these options](Self::options) makes it, for this test alone until it ends. A test that
    /// changes tables, or is about making them, asks for a [fresh one](Self::fresh_database).
    pub async fn database(&self) -> Result<String, StoreError> {
        self.database_of(self.options().shards).boxed().await
    }

    /// One whose queues are cut into so many shards.
    pub async fn database_of(&self, shards: ShardCount) -> Result<String, StoreError> {
        let name = fresh_name();
        match &self.place {
            Place::Server { url, .. } => {
                match databases::lend(url, &name, shards).boxed().await.map_err(unavailable)? {
                    Some(lent) => Ok(lent),
                    None => self.fresh_database().await,
                }
            }
            Place::Folder { path, untouched } => {
                let make = || async {
                    let file = path.join("untouched.db");
                    databases::make_untouched(&file).boxed().await.map(|()| file)
                };
                let untouched = untouched.get_or_try_init(make).await.map_err(unavailable)?;
                let file = path.join(name).with_extension("db");
                databases::copy(untouched, &file, shards).boxed().await.map_err(unavailable)?;
                Ok(databases::file_url(&file))
            }
        }
    }

    /// Opens an instance as a service would, with this backend's word of configuration.
    pub async fn open(&self, url: &str, clock: Option<FrozenClock>) -> Result<SeaOrmOutbox, StoreError> {
        SeaOrmOutbox::open(url, OpenOptions { frozen_clock: clock, ..self.options() }).await
    }

    /// How this backend opens an instance.
    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            strategy: self.strategy.parse().expect("a strategy"),
            order: self.order,
            shards: ShardCount::new(4).expect("a shard count"),
            max_payload: Some(100_000),
            max_connections: 6,
            ..OpenOptions::default()
        }
    }

    /// Opens more instances, behind `lock`.
    fn open_ports(&self, url: &str, clock: FrozenClock, lock: Lock) -> OpenPorts {
        let url = url.to_owned();
        let options = OpenOptions { frozen_clock: Some(clock), ..self.options() };
        Arc::new(move || {
            let (url, options, lock) = (url.clone(), options.clone(), lock.clone());
            Box::pin(async move {
                let outbox = SeaOrmOutbox::open(&url, options).await.expect("open");
                lock.before(&outbox)
            })
        })
    }

    /// The URL of the database that its fixtures share.
    pub async fn shared_database(&self) -> Result<String, StoreError> {
        self.shared.get_or_try_init(|| self.fresh_database()).await.cloned()
    }

    pub(super) async fn pair(
        &self,
        url: &str,
        queue: QueueName,
    ) -> Result<(Fixture, SeaOrmOutbox, SeaOrmOutbox), StoreError> {
        let clock = FrozenClock::at(Fixture::start().as_micros());
        let store = self.open(url, Some(clock.clone())).await?;
        let rival = self.open(url, Some(clock.clone())).await?;
        let facts = Facts { shards: store.shards(), payload_limit: store.payload_limit() };
        let lock = self.guard.as_ref().map_or(Lock::None, Guard::lock);
        let (ports, rival_ports) = (lock.before(&store), lock.before(&rival));
        let fixture = Fixture::new(ports, rival_ports, queue, facts, Arc::new(clock.clone()));
        Ok((fixture.with_open_ports(self.open_ports(url, clock, lock)), store, rival))
    }
}

#[async_trait]
impl Backend for SeaOrmBackend {
    fn name(&self) -> &str {
        self.name
    }

    fn strategy(&self) -> &str {
        &self.called
    }

    fn has(&self) -> &[Need] {
        &self.has
    }

    async fn fixture(&self) -> Result<Fixture, StoreError> {
        let url = self.shared_database().await?;
        Ok(self.pair(&url, Fixture::fresh_queue()).await?.0)
    }

    async fn swept_fixture(&self) -> Result<SweptFixture, StoreError> {
        let url = self.swept.get_or_try_init(|| self.fresh_database()).await?;
        let (fixture, store, _) = self.pair(url, Fixture::fresh_queue()).await?;
        Ok(SweptFixture { fixture, sweeper: Arc::new(store) })
    }
}

#[async_trait]
impl Sweeper for SeaOrmOutbox {
    async fn sweep(&self) {
        self.sweep().await.expect("sweep");
    }
}

#[async_trait]
impl ServerBackend for SeaOrmBackend {
    async fn server_fixture(&self) -> Result<ServerFixture, StoreError> {
        let url = self.database().await?;
        let (outbox, store, _) = self.pair(&url, Fixture::fresh_queue()).await?;
        let (strategy, options) = (store.strategy(), self.options());
        let control = Database::connect(&url).await.map_err(unavailable)?;
        Ok(ServerFixture { outbox, strategy, control, empty: self.fresh_database().await?, options })
    }
}

#[async_trait]
impl NotificationBackend for SeaOrmBackend {
    async fn notification_fixture(&self, is_wired: bool) -> Result<NotificationFixture, StoreError> {
        let url = self.database().await?;
        let queue = QueueName::new(REQUEST_QUEUE).expect("a queue name");
        let (outbox, store, rival) = self.pair_over(is_wired, &url, queue).await?;
        let erasing = Arc::new(rival.clone());
        Ok(NotificationFixture { outbox, store: ports(store), rival: ports(rival), erasing })
    }
}

#[async_trait]
impl StepBackend for SeaOrmBackend {
    async fn step_fixture(&self, is_wired: bool) -> Result<StepFixture, StoreError> {
        let url = self.shared_database().await?;
        let (outbox, store, rival) = self.pair_over(is_wired, &url, Fixture::fresh_queue()).await?;
        let shown = Arc::new(store.clone());
        Ok(StepFixture { outbox, store: Arc::new(store), rival: Arc::new(rival), shown })
    }
}

#[async_trait]
impl LockBackend for SeaOrmBackend {
    async fn lock_fixture(&self) -> Result<LockFixture, StoreError> {
        let url = self.shared_database().await?;
        let clock = FrozenClock::at(Fixture::start().as_micros());
        let store = self.open(&url, Some(clock.clone())).await?;
        let rival = self.open(&url, Some(clock.clone())).await?;
        Ok(LockFixture::new(Arc::new(store), Arc::new(rival), Arc::new(clock)))
    }
}

#[async_trait]
impl TimerBackend for SeaOrmBackend {
    async fn timer_fixture(&self, is_wired: bool) -> Result<TimerFixture, StoreError> {
        let url = self.database().await?;
        let (outbox, store, rival) = self.pair_over(is_wired, &url, Fixture::fresh_queue()).await?;
        let repeatable =
            [&store, &rival].map(|store| Arc::new(RepeatableRead(store.clone())) as Arc<dyn SetUpEvents>);
        let repeatable = matches!(self.place, Place::Server { .. }).then_some(repeatable);
        Ok(TimerFixture { outbox, store: TimerPorts::of(store), rival: TimerPorts::of(rival), repeatable })
    }
}

impl Drop for SeaOrmBackend {
    fn drop(&mut self) {
        if let Place::Folder { path, .. } = &self.place {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

#[async_trait]
impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.micros()).expect("a moment")
    }

    async fn advance(&self, by: Duration) {
        self.advance(by);
    }
}

fn ports(store: SeaOrmOutbox) -> NotificationPorts {
    let store = Arc::new(store);
    NotificationPorts {
        requests: store.clone(),
        messages: store.clone(),
        attempts: store.clone(),
        rates: store.clone(),
        reports: store.clone(),
        in_app: store.clone(),
        digests: store.clone(),
        list: store.clone(),
        preferences: store.clone(),
        directory: store.clone(),
        people: store.clone(),
        suppressions: store.clone(),
        receipts: store.clone(),
        templates: store.clone(),
        transactions: store,
    }
}

fn unavailable(error: sea_orm::DbErr) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "transaction", error)
}

fn fresh_name() -> String {
    format!("claimstream_test_{}_{}", std::process::id(), next_number())
}

fn next_number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::SeqCst)
}
