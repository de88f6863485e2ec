//! What breaks under an outbox and what it does then.
//! Promise: a settlement whose commit went unanswered is accepted, and a dead connection costs one call
//! Promise: a revival or purge whose commit went unanswered is counted
//! Promise: a link that is cut silently occupies a connection of a pool for a second at most

use std::{sync::atomic::Ordering, time::Duration};

use claimstream::Compose;
use claimstream_domain::{
    Claimed, DeadLetterFilter, Disposition, NewMessage, QueueName, Reason, Settled, Settlement, ShardCount,
};
use claimstream_ports::{DeadLetters, StoreErrorKind, notification::NotificationReports};
use claimstream_sea_orm::{OpenOptions, Order, SeaOrmOutbox};
use claimstream_testbed::eventually;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DbBackend, QueryResult, Statement};
use uuid::Uuid;

use crate::{
    Fixture, Instance, Ports, Server, Suite,
    backend::SeaOrmBackend,
    fixture::{Wire, keyed_message},
};

/// Adds the outages on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::outages::{what}", server.name);
        let [killed, lost, ended, silent, dead] = std::array::from_fn(|_| url.clone());
        let claimed = url;
        if server.name == "mysql-9.7" {
            // Guard: a connection returns to its pool in time | adapters/sea-orm/src/database/lent.rs `drop`:
            // leaves it to sqlx
            // Guard: single statements use connections that return in time |
            // adapters/sea-orm/src/database/brief.rs `on`: no `lending`
            let what = "a_link_that_is_cut_at_the_ping_of_the_pool_keeps_no_place_in_it";
            suite.add_async_test(&name(what), async move {
                keeps_no_place(&SeaOrmBackend::server(server.name, &silent, "skip_locked")).await;
            });
        }
        suite.add_async_test(&name("a_pool_of_dead_connections_costs_one_call"), async move {
            let backend = SeaOrmBackend::server(server.name, &killed, "auto");
            costs_one_call(&backend).await;
        });
        suite.add_async_test(&name("a_settlement_whose_commit_went_unanswered_is_accepted"), async move {
            let backend = SeaOrmBackend::server(server.name, &lost, "auto");
            is_accepted(&backend).await;
        });
        // Guard: a commit of dead letters without an answer is read back |
        // adapters/sea-orm/src/dead_letters/letters.rs `move_page`: no `are_moved`
        let what = "a_revival_and_a_purge_whose_commit_went_unanswered_are_counted";
        suite.add_async_test(&name(what), async move {
            are_counted(&SeaOrmBackend::server(server.name, &dead, "auto")).await;
        });
        suite.add_async_test(&name("a_settlement_whose_one_answer_was_lost_is_accepted"), async move {
            let backend = SeaOrmBackend::server(server.name, &ended, "auto");
            is_accepted_without_a_commit(&backend).await;
        });
        for strategy in server.strategies().iter().copied() {
            let unanswered = claimed.clone();
            // Guard: an error while a lost commit is looked up leaves its outcome unknown |
            // adapters/sea-orm/src/strategy/shard_lease/lease/lost_answer.rs `has_token`, and `took_effect`
            // in strategy/rows/read_back.rs: return the error, which passes
            let what = "a_question_about_a_lost_commit_that_fails_leaves_the_outcome_unknown";
            suite.add_async_test(&format!("{}::{strategy}::outages::{what}", server.name), async move {
                is_unknown(&SeaOrmBackend::server(server.name, &unanswered, strategy.name())).await;
            });
        }
        let parked = claimed.clone();
        // Guard: a retry in place is counted once | adapters/sea-orm/src/sql/shard_lease/park.sql: no
        // `attempts <= :attempts`
        suite.add_async_test(&name("a_retry_of_unknown_outcome_is_counted_once"), async move {
            let backend = SeaOrmBackend::server(server.name, &parked, "shard_lease").ordered(Order::PerKey);
            counts_once(&backend).await;
        });
        // Guard: a claim that is not known completely is settled in a transaction |
        // adapters/sea-orm/src/strategy/rows/read.rs: `in_full` is always true
        suite.add_async_test(
            &name("a_claim_whose_answer_was_lost_is_settled_in_a_transaction"),
            async move {
                let backend = SeaOrmBackend::server(server.name, &claimed, "preemptive_update");
                is_settled_in_a_transaction(&backend).await;
            },
        );
    }
}

async fn costs_one_call(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
    let queue = Fixture::fresh_queue();
    let sends = |n: usize| (0..n).map(|_| send(&outbox, &queue));
    assert!(join_all(sends(8)).await.iter().all(Result::is_ok));
    let killer = backend.open(&url, None).await.expect("open");
    kill_others(&killer).await;
    let mut failures = 0;
    for sent in sends(10) {
        failures += usize::from(sent.await.is_err());
    }
    assert!(failures <= 1, "{failures} calls met a dead connection");
}

/// Each connection is lost as it returns to its pool, after a transaction or a single statement, whether they ended or were dropped, and a
/// pool has two.
async fn keeps_no_place(backend: &SeaOrmBackend) {
    const MORE_THAN_TWO: usize = 3;
    let url = backend.database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let options = OpenOptions {
        max_connections: 2,
        relay_connections: 2,
        acquire_timeout: Duration::from_secs(5),
        ..backend.options()
    };
    let open = || SeaOrmOutbox::open(&wire.url, options.clone());
    let (one, other) = (open().await.expect("open"), open().await.expect("open"));
    let (dropping, cutting) = (open().await.expect("open"), open().await.expect("open"));
    let queue = Fixture::fresh_queue();
    for outbox in [&one, &other, &dropping, &cutting] {
        let pools = [outbox.connection(), outbox.relay_connection()];
        let pools = pools.map(|pool| pool.get_mysql_connection_pool());
        eventually("what the opening has used is back in the pools", || async {
            pools.iter().all(|pool| pool.num_idle() == pool.size() as usize)
        })
        .await;
    }
    wire.swallow_from_ping();
    let transactions = async {
        for _ in 0..MORE_THAN_TWO {
            send(&one, &queue).await.expect("a transaction");
        }
    };
    let of_callers = async {
        for _ in 0..MORE_THAN_TWO {
            other.progress(Uuid::now_v7()).await.expect("a statement");
        }
    };
    let own = async {
        for _ in 0..MORE_THAN_TWO {
            other.has_notification_requests().await.expect("a statement");
        }
    };
    let dropped = async {
        for _ in 0..MORE_THAN_TWO {
            drop(dropping.begin_own().await.expect("a transaction that is dropped"));
        }
    };
    let cut_short = async {
        for _ in 0..MORE_THAN_TWO {
            let tx = cutting.begin_own().await.expect("a transaction whose statement is dropped");
            let mut slow = tx.execute_unprepared("DO SLEEP(0.2)");
            assert!(futures::poll!(&mut slow).is_pending());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    futures::join!(transactions, of_callers, own, dropped, cut_short);
}

async fn send(outbox: &SeaOrmOutbox, queue: &QueueName) -> Result<(), StoreErrorKind> {
    let message = NewMessage::json(queue.clone(), &7).expect("a message");
    outbox.enqueue_now(&[message]).await.map(|_| ()).map_err(|e| e.kind())
}

async fn kill_others(killer: &SeaOrmOutbox) {
    let ask = |sql| killer.connection().query_all_raw(Statement::from_string(DbBackend::MySql, sql));
    let database = |row: &QueryResult| row.try_get::<Option<String>>("", "db").expect("a name");
    let ours = database(&ask("SELECT DATABASE() AS db").await.expect("an answer")[0]);
    // The table of connections cannot be read on MySQL while any statement has binary values.
    let all = ask("SHOW PROCESSLIST").await.expect("the connections");
    for row in all.iter().filter(|row| database(row) == ours) {
        let signed = row.try_get::<i64>("", "Id");
        let id = signed.or_else(|_| row.try_get::<u64>("", "Id").map(|id| id as i64)).expect("an id");
        // The killer's own connections are among them, and one may be gone already.
        let _ = killer.connection().execute_unprepared(&format!("KILL {id}")).await;
    }
}

async fn is_accepted(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, OpenOptions::default()).await.expect("open");
    let queue = Fixture::fresh_queue();
    for _ in 0..3 {
        send(&outbox, &queue).await.expect("enqueue");
        let instance = Instance::new(7, Ports::of(outbox.clone()), queue.clone(), 5);
        let claimed = instance.take_one().await;
        wire.cut_after_commit.store(true, Ordering::SeqCst);
        // A child takes a transaction.
        let child = NewMessage::json(Fixture::fresh_queue(), &7).expect("a message");
        let settled = instance.settle(&claimed.receipt, Disposition::Done { emit: vec![child] }).await;
        assert_eq!(settled, Settled::Accepted);
        assert!(!wire.cut_after_commit.load(Ordering::SeqCst), "no commit was cut");
    }
}

async fn are_counted(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, OpenOptions::default()).await.expect("open");
    let instance = Instance::new(7, Ports::of(outbox.clone()), Fixture::fresh_queue(), 5);
    let all = DeadLetterFilter::default();
    for is_purge in [false, true] {
        for _ in 0..2 {
            send(&outbox, instance.queue()).await.expect("enqueue");
        }
        for claimed in instance.take_all().await {
            instance.bury(&claimed, "never").await;
        }
        let letters = outbox.count(&all, u64::MAX).await.expect("a count");
        wire.cut_after_commit.store(true, Ordering::SeqCst);
        let changed = if is_purge { outbox.purge(&all).await } else { outbox.revive(&all).await };
        assert_eq!(changed.expect("a change"), letters);
        assert!(!wire.cut_after_commit.load(Ordering::SeqCst), "no commit was cut");
        assert_eq!(outbox.count(&all, u64::MAX).await.expect("a count"), 0);
    }
}

async fn is_accepted_without_a_commit(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, OpenOptions::default()).await.expect("open");
    let queue = Fixture::fresh_queue();
    let instance = Instance::new(7, Ports::of(outbox.clone()), queue.clone(), 5);
    for _ in 0..3 {
        send(&outbox, &queue).await.expect("enqueue");
        let claimed = instance.take_one().await;
        wire.cut_after_change.store(true, Ordering::SeqCst);
        let settled = instance.settle(&claimed.receipt, Disposition::Done { emit: vec![] }).await;
        assert_eq!(settled, Settled::Accepted);
        assert!(!wire.cut_after_change.load(Ordering::SeqCst), "nothing was changed outside a transaction");
    }
    assert_eq!(instance.status().await, None);
}

/// What a statement marks whose answer was lost is not known in full, so no settlement may commit itself.
async fn is_settled_in_a_transaction(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let wire = Wire::to(&url).await.expect("a port");
    let outbox = SeaOrmOutbox::open(&wire.url, backend.options()).await.expect("open");
    let queue = Fixture::fresh_queue();
    let instance = Instance::new(7, Ports::of(outbox.clone()), queue.clone(), 5);
    send(&outbox, &queue).await.expect("enqueue");
    let first = instance.take_one().await;
    send(&outbox, &queue).await.expect("enqueue");
    wire.cut_after_change.store(true, Ordering::SeqCst);
    let claimed = instance.take_one().await;
    assert!(!wire.cut_after_change.load(Ordering::SeqCst), "nothing was changed outside a transaction");
    // Leaves a connection at hand whose first answer in a transaction is that to the commit.
    let child = NewMessage::json(queue.clone(), &7).expect("a message");
    let done = instance.settle(&first.receipt, Disposition::Done { emit: vec![child] }).await;
    assert_eq!(done, Settled::Accepted);
    wire.cut_after_commit.store(true, Ordering::SeqCst);
    let settled = instance.settle(&claimed.receipt, Disposition::Done { emit: vec![] }).await;
    assert_eq!(settled, Settled::Accepted);
    assert!(!wire.cut_after_commit.load(Ordering::SeqCst), "no commit was cut");
}

/// The commit took effect, its answer was lost, and what asks about it is killed again and again: that passes, but it does
/// not say that nothing was written.
async fn is_unknown(backend: &SeaOrmBackend) {
    let setup = Cut::on(backend).await;
    for disposition in [
        Disposition::dead(Reason::new("never")),
        Disposition::Done { emit: vec![NewMessage::json(Fixture::fresh_queue(), &7).expect("a message")] },
    ] {
        send(&setup.direct, setup.instance.queue()).await.expect("enqueue");
        let claimed = setup.instance.take_one().await;
        let settled = setup.settle_unanswered(&claimed, disposition).await;
        assert_eq!(settled, Err(StoreErrorKind::Unavailable));
    }
}

/// The same for what is put off where it is, which is settled once more when the store is back.
async fn counts_once(backend: &SeaOrmBackend) {
    let setup = Cut::on(backend).await;
    let sent = ["account-7", "account-8"].map(|key| keyed_message(setup.instance.queue(), key));
    setup.direct.enqueue_now(&sent).await.expect("enqueue");
    // The second one keeps the shard in our hands.
    let claimed = setup.instance.take(2).await;
    let retry = Disposition::Retry { after: Duration::from_secs(60), reason: Reason::new("not now") };
    let settled = setup.settle_unanswered(&claimed[0], retry.clone()).await;
    assert_eq!(settled, Err(StoreErrorKind::Unavailable));
    assert_eq!(setup.instance.settle(&claimed[0].receipt, retry).await, Settled::Superseded);
    let attempts = "SELECT CAST(SUM(attempts) AS SIGNED) FROM claimstream_queue";
    let attempts = Statement::from_string(DbBackend::MySql, attempts);
    let row = setup.direct.connection().query_one_raw(attempts).await.expect("an answer").expect("a row");
    assert_eq!(row.try_get_by_index::<i64>(0).expect("a number"), 1);
}

/// An instance at a wire that can be cut, and the same database without that wire.
struct Cut {
    wire: Wire,
    instance: Instance,
    direct: SeaOrmOutbox,
}

impl Cut {
    async fn on(backend: &SeaOrmBackend) -> Self {
        let shards = ShardCount::new(1).expect("a shard");
        let url = backend.database_of(shards).await.expect("a database");
        let options = OpenOptions { shards, ..backend.options() };
        let direct = SeaOrmOutbox::open(&url, options.clone()).await.expect("open");
        let wire = Wire::to(&url).await.expect("a port");
        let outbox = SeaOrmOutbox::open(&wire.url, options).await.expect("open");
        let instance = Instance::new(7, Ports::of(outbox), Fixture::fresh_queue(), 5);
        Self { wire, instance, direct }
    }

    /// Settles while the answer to the commit is lost and every question is killed.
    async fn settle_unanswered(
        &self,
        claimed: &Claimed,
        disposition: Disposition,
    ) -> Result<Vec<Settled>, StoreErrorKind> {
        self.wire.cut_and_refuse(1317, "Query execution was interrupted");
        let settlement = Settlement { receipt: claimed.receipt.clone(), disposition };
        let settled = self.instance.ports.settlements.settle(&[settlement]).await;
        assert!(!self.wire.cut_after_commit.load(Ordering::SeqCst), "no commit was cut");
        self.wire.refuse_no_more();
        settled.map_err(|error| error.kind())
    }
}
