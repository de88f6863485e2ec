//! Sagas: the tables S4-A and S4-B of what must hold after every crash, and what else sagas promise, on every store.
//!
//! A crash is a runner that is stopped at a named point of a transaction and dropped there; a late one is stopped and
//! goes on when others have been at work.

mod bank;
mod breakable;
mod crash;
mod points_and_balance;
mod remote;
mod transfer;

use std::sync::Arc;

use claimstream_memory::{MemoryClock, MemoryOptions, MemoryStore};
use claimstream_ports::StoreError;
use futures::future::BoxFuture;

use self::bank::{Bank, Database};
use crate::{Stage, Suite};

/// A clause that is played on some databases.
type Play<D> = fn(Bank<D>) -> BoxFuture<'static, ()>;

/// How many databases a bank has.
const DATABASES: usize = 5;

macro_rules! clauses {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), (|bank| Box::pin($name(bank))) as Play<D>)),*]
    };
}
use clauses;

/// Adds the clauses on memory.
pub fn add_to(suite: &mut Suite) {
    add_clauses(suite, "memory", || {
        Box::pin(async {
            let clock = MemoryClock::manual(Stage::start());
            let open = |_| MemoryStore::open(MemoryOptions::on(clock.clone()));
            let (databases, clock) = ((0..DATABASES).map(open).collect(), Arc::new(clock.clone()));
            Ok(Bank::new(databases, clock))
        })
    });
}

fn add_clauses<D: Database>(
    suite: &mut Suite,
    venue: &str,
    open: impl Fn() -> BoxFuture<'static, Result<Bank<D>, StoreError>> + Clone + Send + Sync + 'static,
) {
    let all = transfer::clauses::<D>().into_iter().chain(points_and_balance::clauses::<D>());
    let all = all.chain(remote::clauses::<D>());
    for (name, play) in all {
        let open = open.clone();
        suite.add_async_trial(&format!("{venue}::sagas::{name}"), async move {
            play(open().await.expect("databases")).await;
        });
    }
}
