//! The one test binary: every clause and scenario on every store that is here, the model test and the invariants.

use std::{process::ExitCode, sync::Arc};

use claimstream_sea_orm::Strategy;
use claimstream_tests::{
    Server, Suite,
    backend::{Backends, SeaOrmBackend},
    budgets,
    claims::{locks, one_writer},
    clusters,
    connections::{callers, cancellation, few_connections, many_queues},
    failures::{failover, lost_notes, missing_table, outages, passing_errors, set_back, several_servers},
    guarded::{self, fences},
    inbox, invariants, model,
    operating::{
        error_kinds, new_shards, openings, operators_reads, outbox_view, resharding, rights, schema_plans,
        strategies, telemetry,
    },
    pages, producers, sagas,
    settlement::{disputes, shared_writes, thin_load},
    streams::{binlog, resting, runtimes, slow, wakeups},
    tcc, upkeep,
};

fn main() -> ExitCode {
    if let Some(done) = sagas::run_job() {
        return done;
    }
    if let Some(code) = guarded::run_if_asked() {
        return code;
    }
    let environment = |name: &str| std::env::var(name).ok();
    let mut suite = everything(environment);
    invariants::add_inventory_to(&mut suite, || everything(Server::anywhere));
    suite.run(environment)
}

/// All trials on the servers that the environment names.
fn everything(environment: impl Fn(&str) -> Option<String> + Copy) -> Suite {
    let mut suite = Suite::default();
    // What takes longest begins first, so that nothing is left to be waited for alone.
    sagas::add_to(&mut suite, environment);
    tcc::add_to(&mut suite, environment);
    cancellation::add_to(&mut suite, environment);
    upkeep::add_to(&mut suite, environment);
    inbox::add_to(&mut suite, environment);
    openings::add_to(&mut suite, environment);
    strategies::add_to(&mut suite, environment);
    binlog::add_to(&mut suite, environment);
    guarded::add_to(&mut suite, environment);
    suite.add_backends(Backends::without_server());
    let sqlite = SeaOrmBackend::sqlite("skip_locked");
    suite.add_refusal(Arc::new(sqlite), &[Strategy::PreemptiveUpdate]);
    for server in Server::ALL {
        suite.add_server(server, environment);
    }
    if let Some(redis) = suite.add_redis(environment) {
        wakeups::add_to(&mut suite, &redis);
        fences::add_to(&mut suite, &redis);
    }
    suite.add_unknown_requirements(environment);
    suite.add_left_out();
    model::add_proof_to(&mut suite);
    callers::add_to(&mut suite, environment);
    disputes::add_to(&mut suite, environment);
    shared_writes::add_to(&mut suite, environment);
    thin_load::add_to(&mut suite, environment);
    resting::add_to(&mut suite, environment);
    set_back::add_to(&mut suite, environment);
    budgets::add_to(&mut suite, environment);
    many_queues::add_to(&mut suite, environment);
    missing_table::add_to(&mut suite, environment);
    lost_notes::add_to(&mut suite, environment);
    outages::add_to(&mut suite, environment);
    error_kinds::add_to(&mut suite, environment);
    rights::add_to(&mut suite, environment);
    schema_plans::add_to(&mut suite, environment);
    failover::add_to(&mut suite, environment);
    several_servers::add_to(&mut suite, environment);
    outbox_view::add_to(&mut suite, environment);
    operators_reads::add_to(&mut suite, environment);
    new_shards::add_to(&mut suite, environment);
    resharding::add_to(&mut suite, environment);
    producers::add_to(&mut suite, environment);
    telemetry::add_to(&mut suite, environment);
    locks::add_to(&mut suite, environment);
    one_writer::add_to(&mut suite);
    runtimes::add_to(&mut suite);
    pages::add_to(&mut suite);
    invariants::add_to(&mut suite);
    suite.add_waiting(|suite| {
        slow::add_to(suite, environment);
        few_connections::add_to(suite, environment);
        passing_errors::add_to(suite, environment);
        clusters::add_to(suite, environment);
    });
    suite
}
