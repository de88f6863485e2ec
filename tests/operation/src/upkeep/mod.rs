//! What a sweep takes away, what it must leave, and when it waits.

mod audit;
mod bodies;
mod consideration;
mod counted;
mod ids;
mod locks;
mod lost_records;
mod notifications;
mod receipts;
mod remains;
mod repairs_at_once;
mod repairs_during_relays;
mod retention;
mod sagas;
mod steps;

use std::{sync::Arc, time::Duration};

use claimstream::Compose;
use claimstream_domain::{MessageId, NewMessage, Payload, QueueName, Retention};
use claimstream_sea_orm::{FrozenClock, OpenOptions, SeaOrmOutbox};
use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};
use uuid::Uuid;

use crate::{Fixture, Instance, Ports, Server, Suite, backend::SeaOrmBackend};

/// Adds the sweep on SQLite and on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let sqlite = Place::of("sqlite", SeaOrmBackend::sqlite);
    add_everywhere(suite, &sqlite);
    repairs_at_once::add_to(suite, &environment);
    repairs_during_relays::add_to(suite, &environment);
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let place =
            Place::of(server.name, move |strategy| SeaOrmBackend::server(server.name, &url, strategy));
        add_everywhere(suite, &place);
        consideration::add_to(suite, &place);
    }
}

fn add_everywhere(suite: &mut Suite, place: &Place) {
    audit::add_to(suite, place);
    bodies::add_to(suite, place);
    ids::add_to(suite, place);
    retention::add_to(suite, place);
    locks::add_to(suite, place);
    sagas::add_to(suite, place);
    steps::add_to(suite, place);
    notifications::add_to(suite, place);
    receipts::add_to(suite, place);
    remains::add_to(suite, place);
    lost_records::add_to(suite, place);
    consideration::add_lag_to(suite, place);
    counted::add_to(suite, place);
}

/// Where tests are run: a store, opened with any strategy.
#[derive(Clone)]
struct Place {
    name: &'static str,
    backend: Arc<dyn Fn(&'static str) -> SeaOrmBackend + Send + Sync>,
}

impl Place {
    fn of(
        name: &'static str,
        backend: impl Fn(&'static str) -> SeaOrmBackend + Send + Sync + 'static,
    ) -> Self {
        Self { name, backend: Arc::new(backend) }
    }

    /// Adds a test, named after what it shows, on a database of its own.
    fn add<F: Future<Output = ()> + Send>(
        &self,
        suite: &mut Suite,
        strategy: &'static str,
        retention: Retention,
        what: &str,
        run: impl FnOnce(Setup) -> F + Send + 'static,
    ) {
        let backend = Arc::clone(&self.backend);
        suite.add_async_test(&format!("{}::upkeep::{what}", self.name), async move {
            let backend = backend(strategy);
            run(Setup::of(&backend, OpenOptions { retention, ..backend.options() }).await).await;
        });
    }
}

impl Place {
    /// The same on two databases, each with a clock of its own.
    fn add_pair<F: Future<Output = ()> + Send>(
        &self,
        suite: &mut Suite,
        strategy: &'static str,
        retention: Retention,
        what: &str,
        run: impl FnOnce(Setup, Setup) -> F + Send + 'static,
    ) {
        let backend = Arc::clone(&self.backend);
        suite.add_async_test(&format!("{}::upkeep::{what}", self.name), async move {
            let backend = backend(strategy);
            let options = OpenOptions { retention, ..backend.options() };
            let (one, other) =
                (Setup::of(&backend, options.clone()).await, Setup::of(&backend, options).await);
            run(one, other).await;
        });
    }
}

/// An outbox whose clock stands still, with an instance that works on it.
struct Setup {
    outbox: SeaOrmOutbox,
    clock: FrozenClock,
    instance: Instance,
    url: String,
    options: OpenOptions,
}

impl Setup {
    const MOMENT: Duration = Duration::from_millis(1);

    async fn of(backend: &SeaOrmBackend, options: OpenOptions) -> Self {
        let url = backend.database().await.expect("a database");
        let clock = FrozenClock::at(Fixture::start().as_micros());
        Self::at(url, clock, options, Fixture::fresh_queue()).await
    }

    async fn at(url: String, clock: FrozenClock, options: OpenOptions, queue: QueueName) -> Self {
        let options = OpenOptions { frozen_clock: Some(clock.clone()), ..options };
        let outbox = SeaOrmOutbox::open(&url, options.clone()).await.expect("open");
        let instance = Instance::new(7, Ports::of(outbox.clone()), queue, 10);
        Self { outbox, clock, instance, url, options }
    }

    /// The same database, opened once more, by settings of its own.
    async fn again(&self, change: impl FnOnce(&mut OpenOptions)) -> Self {
        self.at_url(self.url.clone(), change).await
    }

    /// The same by a URL of its own.
    async fn at_url(&self, url: String, change: impl FnOnce(&mut OpenOptions)) -> Self {
        let mut options = self.options.clone();
        change(&mut options);
        Self::at(url, self.clock.clone(), options, self.instance.queue().clone()).await
    }

    fn message(&self) -> NewMessage {
        NewMessage::json(self.instance.queue().clone(), &7).expect("a message")
    }

    fn of_id(&self, id: Uuid) -> NewMessage {
        NewMessage::new(MessageId::new(id), self.instance.queue().clone(), Payload::json("{}"))
    }

    async fn enqueue(&self, messages: &[NewMessage]) {
        self.outbox.enqueue_now(messages).await.expect("enqueue");
    }

    /// Takes everything that is due and acks it.
    async fn finish_all(&self) {
        for claimed in self.instance.take_all().await {
            self.instance.ack(&claimed).await;
        }
    }

    /// How many bodies a sweep takes.
    async fn sweep(&self) -> u64 {
        self.outbox.sweep().await.expect("sweep").bodies
    }

    /// How many bodies there are.
    async fn bodies(&self) -> i64 {
        self.count("SELECT COUNT(*) FROM claimstream_message").await
    }

    /// The number that a query answers.
    async fn count(&self, count: &str) -> i64 {
        let db = self.outbox.connection();
        let row = db.query_one_raw(Statement::from_string(backend(db), count)).await.expect("a count");
        row.expect("a row").try_get_by_index(0).expect("a number")
    }

    async fn execute(&self, sql: &str) {
        self.outbox.connection().execute_unprepared(sql).await.expect("what a person may do");
    }

    /// The same in a session that writes zero dates, as old programs do.
    async fn execute_loosely(&self, sql: &str) {
        let db = Database::connect(&self.url).await.expect("a connection");
        let mode = if backend(&db) == DbBackend::Sqlite { "" } else { "SET SESSION sql_mode = '';" };
        db.execute_unprepared(&format!("{mode}{sql}")).await.expect(sql);
        db.close().await.expect("a close");
    }
}

fn backend(db: &impl ConnectionTrait) -> DbBackend {
    db.get_database_backend()
}

fn keep() -> Retention {
    Retention::keep(Retention::SHORTEST).expect("a retention")
}

fn hex(id: Uuid) -> String {
    format!("x'{}'", id.simple())
}
