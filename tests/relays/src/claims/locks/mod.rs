//! Who waits for whom on real servers, which index every claim statement walks, and how many rows it locks.

mod claim;
mod frozen;
mod lease;
mod place;
mod plan;
mod rows;
mod settle;
mod setup;
mod transactions;
mod wait_bounds;

pub(crate) use transactions::fresh_transactions;

use place::Place;

use claimstream_sea_orm::Strategy;

use crate::{Server, Suite};

/// Adds what is said about locks to every server that is here, with each strategy that it runs.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    wait_bounds::add_sqlite_to(suite);
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        for strategy in server.strategies().iter().copied() {
            let place = Place { server, strategy, url: url.clone() };
            if strategy == Strategy::ShardLease {
                frozen::add_to(suite, &place);
                wait_bounds::add_to(suite, &place);
                lease::add_to(suite, place);
                continue;
            }
            let name = |what: &str| format!("{}::{strategy}::locks::{what}", server.name);
            let waits = place.clone();
            suite.add_async_test(&name("a_claim_in_flight_hinders_no_producer"), async move {
                match strategy {
                    Strategy::SkipLocked => waits.steps_over().await,
                    _ => waits.takes_turns().await,
                }
            });
            let plans = place.clone();
            // Guard: a claim's look reads one row of each shard | adapters/sea-orm/src/sql/claim/peek.sql: no
            // `{to_first q}`; the same in shard_lease/peek.sql; fails on MySQL
            suite.add_async_test(&name("claim_statements_walk_the_primary_key"), async move {
                plans.walks_the_primary_key().await;
            });
            settle::add_to(suite, &place);
            suite.add_async_test(&name("a_claim_locks_little_more_than_its_batch"), async move {
                place.locks_its_batch().await;
            });
        }
    }
}
