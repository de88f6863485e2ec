//! Every contract on every backend that is here.
//! Promise: an outbox refuses a strategy that its server cannot run

use std::sync::Arc;

use claimstream_sea_orm::Strategy;
use claimstream_testbed::{ClusterKind, servers};

use crate::{
    Server, Suite,
    backend::{
        Backend, Backends, LockBackend, MemoryBackend, NotificationBackend, SeaOrmBackend, ServerBackend,
        StepBackend, TimerBackend,
    },
    conformance, model, order, redelivery, scenarios,
    suite::Need::{self, Claims, HeldKeys, ParallelWrites, Settlements, Unguarded},
};

/// Adds the contracts on every store that the environment names, and on those that need no server.
pub(crate) fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String> + Copy) {
    add_backends(suite, Backends::without_server());
    let sqlite = SeaOrmBackend::sqlite("skip_locked");
    suite.add_refusal(Arc::new(sqlite), &[Strategy::PreemptiveUpdate]);
    let redis = servers::redis_url(environment);
    for server in Server::ALL {
        let Some(url) = suite.add_server(server, environment) else { continue };
        add_backends(suite, Backends::of_server(server, &url, redis.as_deref()));
        if !server.skips_locked {
            let refused = SeaOrmBackend::server(server.name, &url, "skip_locked");
            suite.add_refusal(Arc::new(refused), server.strategies());
        }
    }
    if let Some(url) = suite.add_redis(environment, &["redis::locks", "lock:redis"]) {
        add_backends(suite, Backends::of_redis(&url));
    }
    suite.add_unknown_requirements(environment);
    suite.add_left_out();
    suite.add_waiting(|suite| {
        suite.on_clusters(environment, "clauses", |suite, kind, url| {
            add_cluster(suite, kind, url, environment(CLUSTER_CLAUSES).as_deref() == Some("all"));
        });
    });
}

/// The variable that has every clause run on clusters that is run on single servers, if it is `all`.
const CLUSTER_CLAUSES: &str = "CLAIMSTREAM_CLUSTER_CLAUSES";

fn add_cluster(suite: &mut Suite, kind: ClusterKind, url: &str, all: bool) {
    if all {
        let server = Server { name: kind.name, variable: kind.variable, skips_locked: true };
        add_backends(suite, Backends::of_server(server, url, None));
    } else {
        add_backends(suite, Backends::of_cluster(kind.name, url));
        let why = format!("{CLUSTER_CLAUSES}=all runs them");
        suite.add_not_run(&format!("{}::other_clauses", kind.name), &why);
    }
}

/// Adds every case on every backend that has what it needs, and notes which were left out and for which need.
fn add_backends(suite: &mut Suite, backends: Backends) {
    backends.memory.into_iter().for_each(|memory| add_memory(suite, &memory));
    backends.sea_orm.into_iter().for_each(|sea_orm| add_sea_orm(suite, &sea_orm));
    backends.redis.into_iter().for_each(|redis| add_locks(suite, &redis));
    for (backend, strategy) in backends.choosing {
        suite.add_choice(backend, strategy);
    }
}

fn add_memory(suite: &mut Suite, backend: &Arc<MemoryBackend>) {
    add_outbox(suite, backend);
    add_steps(suite, backend);
    add_locks(suite, backend);
}

fn add_sea_orm(suite: &mut Suite, backend: &Arc<SeaOrmBackend>) {
    add_outbox(suite, backend);
    add_order(suite, backend);
    add_server_cases(suite, backend);
    add_steps(suite, backend);
    add_locks(suite, backend);
}

fn add_outbox<B: Backend + 'static>(suite: &mut Suite, backend: &Arc<B>) {
    suite.add_cases(backend, conformance::outbox().chain(scenarios::outbox()), |backend, _| {
        Box::pin(async move { backend.fixture().await })
    });
    if has(&**backend, &[Claims, Settlements]) {
        redelivery::add_to(suite, backend.clone());
    }
    if has(&**backend, &[Claims, Unguarded]) {
        model::add_to(suite, backend.clone());
    }
}

fn add_order(suite: &mut Suite, backend: &Arc<SeaOrmBackend>) {
    if has(&**backend, &[HeldKeys]) {
        order::add_many_keys_to(suite, backend.clone());
        order::reading_on::add_to(suite, backend.clone());
        order::add_to(suite, backend.clone());
        order::add_pipeline_to(suite, backend.clone());
        order::add_copies_to(suite, backend.clone());
    }
    if has(&**backend, &[HeldKeys, ParallelWrites]) {
        order::add_commits_to(suite, backend.clone());
    }
}

fn add_server_cases<B: ServerBackend + 'static>(suite: &mut Suite, backend: &Arc<B>) {
    suite.add_cases(backend, conformance::server().chain(scenarios::server()), |backend, _| {
        Box::pin(async move { backend.server_fixture().await })
    });
}

/// What stands on the step ledger, and notifications.
fn add_steps<B: NotificationBackend + StepBackend + TimerBackend + 'static>(
    suite: &mut Suite,
    backend: &Arc<B>,
) {
    let notifications = conformance::notifications().chain(scenarios::notifications());
    suite.add_cases(backend, notifications, |backend, is_wired| {
        Box::pin(async move { backend.notification_fixture(is_wired).await })
    });
    suite.add_cases(backend, conformance::steps(), |backend, is_wired| {
        Box::pin(async move { backend.step_fixture(is_wired).await })
    });
    suite.add_cases(backend, scenarios::timers(), |backend, is_wired| {
        Box::pin(async move { backend.timer_fixture(is_wired).await })
    });
}

fn add_locks<B: LockBackend + 'static>(suite: &mut Suite, backend: &Arc<B>) {
    suite.add_cases(backend, conformance::locks(), |backend, _| {
        Box::pin(async move { backend.lock_fixture().await })
    });
}

fn has(backend: &dyn Backend, needs: &[Need]) -> bool {
    needs.iter().all(|need| backend.has().contains(need))
}
