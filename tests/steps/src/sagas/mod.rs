//! Sagas: the tables S4-A and S4-B of what must hold after every crash, and what else sagas promise, on every store.
//!
//! A crash is a runner that is stopped at a named point of a transaction and dropped there, or a process that is killed
//! there; a late one is stopped and goes on when others have been at work.
//! Promise: a saga is completed or undone, wherever its runner stops or is killed, and no step comes after
//! its rollback

mod alarms;
mod bank;
mod breakable;
mod case;
mod cluster;
mod crash;
mod database;
mod draw;
mod inputs;
mod kinds;
mod lists;
pub(crate) mod mishaps;
mod notice;
mod payment;
mod pivot;
mod points_and_balance;
mod processes;
mod remote;
mod transfer;
mod urls;

use std::sync::Arc;

use claimstream_memory::{MemoryClock, MemoryOptions, MemoryStore};
use claimstream_ports::StoreError;
use claimstream_sea_orm::{FrozenClock, OpenOptions, SeaOrmOutbox};
use futures::future::{BoxFuture, try_join_all};

use self::{
    bank::{Bank, DATABASES},
    database::Database,
    processes::Second,
    urls::Urls,
};
use crate::{Fixture, Server, Suite, backend::SeaOrmBackend};

pub(crate) use self::cluster::add_on;
pub use self::draw::{Draw, Ends};
pub use self::processes::run_job;

/// Where every pair of crash points is run by killing processes, which takes minutes: a server of each kind.
const KILLED_IN_PAIRS: [&str; 2] = ["mariadb-10.11", "mysql-9.7"];

/// Where many are drawn at once with their mishaps, in addition to memory.
pub(crate) const WITH_MISHAPS: &str = "mariadb-10.11";

/// Adds the cases on memory, on SQLite and on every server that is here; every pair of crash points on memory and SQLite,
/// and by killing processes on a server of each kind.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add_clauses(suite, "memory", |_| true, || Box::pin(async { Ok(in_memory()) }));
    mishaps::add_to(suite, "memory", || Box::pin(async { in_memory() }));
    let sqlite = Urls::of(SeaOrmBackend::sqlite("preemptive_update"));
    add_databases(suite, "sqlite", |_| true, sqlite.clone());
    suite.long("kills", |suite| processes::add_to(suite, "sqlite", &sqlite, Second::Somewhere));
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let urls = Urls::of(SeaOrmBackend::server(server.name, &url, "preemptive_update"));
        add_databases(suite, server.name, |name| !name.contains("every_pair"), urls.clone());
        if server.name == WITH_MISHAPS {
            let urls = urls.clone();
            mishaps::add_to(suite, server.name, move || {
                let urls = urls.clone();
                Box::pin(async move { on(&urls).await.expect("databases") })
            });
        }
        let second =
            if KILLED_IN_PAIRS.contains(&server.name) { Second::Everywhere } else { Second::Somewhere };
        suite.long("kills", |suite| processes::add_to(suite, server.name, &urls, second));
    }
}

fn add_databases(suite: &mut Suite, backend: &str, owed: fn(&str) -> bool, urls: Urls) {
    add_clauses(suite, backend, owed, move || {
        let urls = urls.clone();
        Box::pin(async move { on(&urls).await })
    });
}

fn in_memory() -> Bank<MemoryStore> {
    let clock = MemoryClock::manual(Fixture::start());
    let open = |_| MemoryStore::open(MemoryOptions::on(clock.clone()));
    Bank::new((0..DATABASES).map(open).collect(), Arc::new(clock.clone()))
}

async fn on(urls: &Urls) -> Result<Bank<SeaOrmOutbox>, StoreError> {
    let clock = FrozenClock::at(Fixture::start().as_micros());
    let options = OpenOptions { frozen_clock: Some(clock.clone()), ..urls.backend.options() };
    let urls = urls.get().await?;
    let databases = urls.iter().map(|url| SeaOrmOutbox::open(url, options.clone()));
    Ok(Bank::new(try_join_all(databases).await?, Arc::new(clock)))
}

/// Draws payments with their mishaps in memory; how each draw ended is noted.
pub async fn draw_in_memory(draws: impl Iterator<Item = Draw>, note: impl Fn(Draw, Ends)) {
    for draw in draws {
        note(draw, mishaps::run(in_memory(), draw).await);
    }
}

/// The same in databases of a backend.
pub async fn draw_on(backend: SeaOrmBackend, draws: impl Iterator<Item = Draw>, note: impl Fn(Draw, Ends)) {
    let urls = Urls::of(backend);
    for draw in draws {
        let bank = on(&urls).await.expect("databases");
        note(draw, mishaps::run(bank, draw).await);
    }
}

fn add_clauses<D: Database>(
    suite: &mut Suite,
    backend: &str,
    owed: fn(&str) -> bool,
    open: impl Fn() -> BoxFuture<'static, Result<Bank<D>, StoreError>> + Clone + Send + Sync + 'static,
) {
    let all = transfer::cases::<D>().into_iter().chain(points_and_balance::cases::<D>());
    let all = all.chain(alarms::cases::<D>()).chain(pivot::cases::<D>()).chain(remote::cases::<D>());
    let all = all.chain(kinds::cases::<D>()).chain(inputs::cases::<D>());
    let all = all.chain(lists::cases::<D>());
    for (name, run) in all.filter(|(name, _)| owed(name)) {
        let open = open.clone();
        suite.add_async_test(&format!("{backend}::sagas::{name}"), async move {
            run(open().await.expect("databases")).await;
        });
    }
}
