//! Settlements that one statement writes and commits, and that find some of their messages gone.
//! Promise: when a settlement without a transaction finds too few rows, the outcome of each row is exact or
//! unknown
//! Promise: an outcome that is known stays known when the rest of the call fails

use std::time::Duration;

use claimstream::Compose;
use claimstream_domain::{
    ClaimId, Claimed, Disposition, InstanceId, NewMessage, OrderingKey, Reason, Receipt,
    Settled::{self, Accepted, Superseded},
    Settlement,
};
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{Dialect, FrozenClock, SeaOrmOutbox, Strategy};
use sea_orm::{ConnectionTrait, DbBackend, Statement, TransactionTrait};

use crate::{Fixture, Instance, LEASE, Ports, Server, Suite, backend::SeaOrmBackend};
use claimstream_testbed::statement_waits;

/// Adds the disputes on SQLite and on every server that is here, with each strategy that writes messages.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    add_partly_known(suite, &environment);
    let mut places: Vec<(&'static str, Option<String>, Vec<Strategy>)> =
        vec![("sqlite", None, vec![Strategy::PreemptiveUpdate])];
    for server in Server::ALL {
        let marks = |strategy: &Strategy| *strategy != Strategy::ShardLease;
        let strategies = server.strategies().iter().copied().filter(marks).collect();
        places.extend(server.url(&environment).map(|url| (server.name, Some(url), strategies)));
    }
    for (store, url, strategies) in places {
        for strategy in strategies {
            let name = |what: &str| format!("{store}::{strategy}::disputes::{what}");
            let backend = || {
                let url = url.clone();
                move || match url {
                    None => SeaOrmBackend::sqlite(strategy.name()),
                    Some(url) => SeaOrmBackend::server(store, &url, strategy.name()),
                }
            };
            let (lost, settled, ended, overlapping) = (backend(), backend(), backend(), backend());
            // Guard: a claim that is being settled is not settled a second time |
            // adapters/sea-orm/src/strategy/rows/open_claims.rs `end`: refuses none
            suite.add_async_test(&name("settlements_that_overlap_accept_a_claim_once"), async move {
                accept_it_once(overlapping()).await;
            });
            // Guard: rows that a renewal moved are settled where they are |
            // adapters/sea-orm/src/strategy/rows/at_once.rs: rows that exist are superseded
            suite.add_async_test(
                &name("what_was_taken_over_is_distinguished_from_what_was_ended"),
                async move {
                    is_distinguished(lost()).await;
                },
            );
            suite.add_async_test(
                &name("what_is_gone_while_the_lease_runs_was_ended_by_its_holder"),
                async move {
                    was_ended_by_its_holder(settled()).await;
                },
            );
            if url.is_some() {
                // Guard: rows that are missing after the lease has ended are an unknown outcome |
                // adapters/sea-orm/src/strategy/rows/at_once.rs: `still_runs` ignored
                suite.add_async_test(
                    &name("what_is_gone_after_the_lease_has_an_unknown_outcome"),
                    async move {
                        has_an_unknown_outcome(ended()).await;
                    },
                );
            }
        }
    }
}

/// Adds it on every store with each strategy, because each of them settles one by one what it cannot settle together.
fn add_partly_known(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    let mut places: Vec<(&'static str, Option<String>, &'static [Strategy])> =
        vec![("sqlite", None, &[Strategy::PreemptiveUpdate, Strategy::ShardLease])];
    let servers = Server::ALL.into_iter();
    places.extend(
        servers
            .filter_map(|server| Some((server.name, Some(server.url(&environment)?), server.strategies()))),
    );
    for (store, url, strategies) in places {
        for strategy in strategies.iter().copied() {
            let url = url.clone();
            // Guard: outcomes known before an error are returned | adapters/sea-orm/src/strategy/rows/settle.rs
            // `one_by_one`, and `settle_shard` under `shard_lease`: the error alone
            let name = "what_is_known_before_an_error_is_answered";
            suite.add_async_test(&format!("{store}::{strategy}::disputes::{name}"), async move {
                keeps_what_is_known(match url {
                    None => SeaOrmBackend::sqlite(strategy.name()),
                    Some(url) => SeaOrmBackend::server(store, &url, strategy.name()),
                })
                .await;
            });
        }
    }
}

/// A store, and a rival whose clock is set apart from it, on one queue with messages in one shard.
struct Setup {
    store: SeaOrmOutbox,
    ours: Instance,
    theirs: Instance,
    clock: FrozenClock,
    later: FrozenClock,
    _venue: SeaOrmBackend,
}

impl Setup {
    async fn with(backend: SeaOrmBackend, messages: usize) -> (Self, Vec<Claimed>) {
        let url = backend.database().await.expect("a database");
        let [clock, later] = [(); 2].map(|()| FrozenClock::at(Fixture::start().as_micros()));
        let store = backend.open(&url, Some(clock.clone())).await.expect("open");
        let rival = backend.open(&url, Some(later.clone())).await.expect("open");
        let queue = Fixture::fresh_queue();
        let ours = Instance::new(1, Ports::of(store.clone()), queue.clone(), 10);
        let theirs = Instance::new(2, Ports::of(rival), queue.clone(), 10);
        let key = OrderingKey::new("account-7").expect("a key");
        let sent: Vec<_> = (0..messages)
            .map(|n| NewMessage::json(queue.clone(), &n).expect("a message"))
            .map(|message| message.ordered_by(key.clone()))
            .collect();
        store.enqueue_now(&sent).await.expect("enqueue");
        let setup = Self { store, ours, theirs, clock, later, _venue: backend };
        let claimed = setup.ours.take(messages).await;
        assert_eq!(claimed.len(), messages);
        (setup, claimed)
    }
}

/// One of four is not ours, and one cannot be ended. What became of those before it is known, and stays known.
async fn keeps_what_is_known(backend: SeaOrmBackend) {
    let (setup, claimed) = Setup::with(backend, 4).await;
    let stuck = claimed[2].message.id.uuid().simple();
    let trigger = match setup.store.dialect() {
        Dialect::MySql => format!(
            "CREATE TRIGGER stuck BEFORE DELETE ON claimstream_queue FOR EACH ROW IF OLD.id = X'{stuck}' THEN \
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'; END IF"
        ),
        Dialect::Sqlite => format!(
            "CREATE TRIGGER stuck BEFORE DELETE ON claimstream_queue WHEN OLD.id = X'{stuck}' \
             BEGIN SELECT RAISE(ABORT, 'no'); END"
        ),
    };
    setup.store.connection().execute_unprepared(&trigger).await.expect("a trigger");
    let mut all = done(&claimed);
    all[0].receipt.claim = ClaimId::new(InstanceId(0), 0);
    let answers = setup.ours.settle_all(&all).await;
    assert_eq!(answers[..3], [Superseded, Accepted, Settled::Unknown]);
    let left: Vec<_> = all
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| **answer == Settled::Unknown)
        .map(|(one, _)| one.clone())
        .collect();
    let refused = setup.ours.ports.settlements.settle(&left).await;
    assert!(refused.is_err(), "nothing is known of any of them: {refused:?}");
    setup.store.connection().execute_unprepared("DROP TRIGGER stuck").await.expect("no trigger");
    assert_eq!(setup.ours.settle_all(&left).await, vec![Accepted; left.len()]);
    // The one that was not ours to end is not ended.
    assert_eq!(setup.ours.status().await.map(|status| status.depth), Some(1));
}

/// A rival has two of six, whose lease has ended by its clock; a renewal whose answer was lost has moved a third.
async fn is_distinguished(backend: SeaOrmBackend) {
    let (setup, claimed) = Setup::with(backend, 6).await;
    setup.clock.advance(Duration::from_secs(10));
    let _ = setup.ours.renew(&claimed[5].receipt, LEASE).await;
    setup.later.advance(LEASE);
    let taken = setup.theirs.take(2).await;
    let answers = setup.ours.settle_all(&done(&claimed)).await;
    let is_taken = |one: &Claimed| taken.iter().any(|taken| taken.message.id == one.message.id);
    let right: Vec<_> = claimed.iter().map(|one| if is_taken(one) { Superseded } else { Accepted }).collect();
    assert_eq!(answers, right);
    for taken in &taken {
        assert_eq!(setup.theirs.ack(taken).await, Accepted);
    }
    assert_eq!(setup.theirs.status().await, None);
}

/// Two settlements at a time have a message in common; the second is done with it, or gives it up for a while.
async fn accept_it_once(backend: SeaOrmBackend) {
    let (setup, claimed) = Setup::with(backend, 60).await;
    let mut given_up = 0;
    for (round, batch) in claimed.chunks(3).enumerate() {
        let (one, mut other) = (done(&batch[..2]), done(&batch[1..]));
        let gives_up = round % 2 == 1;
        if gives_up {
            let after = Duration::from_secs(1);
            other[0].disposition = Disposition::Retry { after, reason: Reason::new("not yet") };
        }
        let both = futures::future::join(setup.ours.settle_all(&one), setup.ours.settle_all(&other));
        let (first, second) = both.await;
        assert_eq!((first[0], second[1]), (Accepted, Accepted));
        assert_ne!(first[1], second[0], "what they have in common is accepted once");
        given_up += u64::from(gives_up && second[0] == Accepted);
        let behind = (claimed.len() - 3 * (round + 1)) as u64;
        assert_eq!(setup.ours.status().await.map_or(0, |status| status.depth), behind + given_up);
    }
}

/// Only the holder of a claim ends its messages while the lease runs.
async fn was_ended_by_its_holder(backend: SeaOrmBackend) {
    let (setup, claimed) = Setup::with(backend, 3).await;
    assert_eq!(setup.theirs.ack(&claimed[1]).await, Accepted);
    assert_eq!(setup.ours.settle_all(&done(&claimed)).await, [Accepted; 3]);
    assert_eq!(setup.ours.settle_all(&done(&claimed)).await, [Superseded; 3]);
}

/// Another session ends a message, and the lease, while the statement waits.
async fn has_an_unknown_outcome(backend: SeaOrmBackend) {
    let (setup, claimed) = Setup::with(backend, 3).await;
    let other = setup.store.connection().begin().await.expect("begin");
    assert_eq!(other.execute_raw(removal(&claimed[1].receipt)).await.expect("a removal").rows_affected(), 1);
    let (ours, batch) = (setup.ours.clone(), done(&claimed));
    let settling = tokio::spawn(async move { ours.ports.settlements.settle(&batch).await });
    statement_waits(&setup.store).await;
    setup.clock.advance(2 * LEASE);
    other.commit().await.expect("commit");
    let answer: Result<Vec<Settled>, _> = settling.await.expect("an answer");
    assert_eq!(answer.map_err(|error| error.kind()), Err(StoreErrorKind::Unavailable));
    assert_eq!(setup.ours.status().await, None);
}

fn done(claimed: &[Claimed]) -> Vec<Settlement> {
    let done = |one: &Claimed| Settlement {
        receipt: one.receipt.clone(),
        disposition: Disposition::Done { emit: vec![] },
    };
    claimed.iter().map(done).collect()
}

fn removal(receipt: &Receipt) -> Statement {
    let (queue, id) =
        (receipt.queue.as_str().as_bytes().to_vec(), receipt.message.uuid().as_bytes().to_vec());
    let values: [sea_orm::Value; 3] = [queue.into(), receipt.shard.number().into(), id.into()];
    let sql = "DELETE FROM claimstream_queue WHERE queue = ? AND shard = ? AND id = ?";
    Statement::from_sql_and_values(DbBackend::MySql, sql, values)
}
