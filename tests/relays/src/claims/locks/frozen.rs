//! Lease rows that another session keeps locked: a peer that stands still in the middle of a take-over, or an operator's session.
//! Promise: leases that a frozen peer has locked leave the connections to other queues

use std::time::Duration;

use claimstream::Compose;
use claimstream_domain::{
    Claimed, Disposition, Lease, NewMessage, QueueName, Receipt, Renewed, Settled, Settlement, Shard,
    ShardCount,
};
use claimstream_ports::{LockingStrategy, Settlements, StoreErrorKind};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use futures::future::join_all;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, Statement, TransactionTrait};

use super::{
    place::Place,
    rows::{args, instance, rows},
    setup::Setup,
};
use crate::{Fixture, LEASE, Suite, backend::SeaOrmBackend, fixture::Wire, statement::bind};
use claimstream_testbed::statement_waits;

/// Adds them where shards are leased.
pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let name = |what: &str| format!("{}::{}::locks::{what}", place.server.name, place.strategy);
    let each = place.clone();
    // Guard: an error of one shard is not an error of others |
    // adapters/sea-orm/src/strategy/shard_lease/settle/mod.rs: one transaction for the call, and renewals end
    // with the first error
    suite.add_async_test(&name("a_lease_of_ours_that_is_locked_fails_no_other_shard"), async move {
        each.answers_for_itself().await;
    });
    let alone = place.clone();
    // Guard: a locked lease is waited for once, for a second |
    // adapters/sea-orm/src/strategy/shard_lease/lease/write.rs: `was_locked_lately` is never true; five
    // seconds, repeated with the connection in hand
    suite.add_async_test(
        &name("who_asks_about_a_locked_lease_alone_gets_an_error_that_passes"),
        async move {
            alone.passes_alone().await;
        },
    );
    let all = place.clone();
    suite.add_async_test(&name("locked_leases_leave_the_connections_to_other_queues"), async move {
        all.leaves_connections().await;
    });
}

fn done(receipt: &Receipt) -> Settlement {
    Settlement { receipt: receipt.clone(), disposition: Disposition::Done { emit: vec![] } }
}

/// Locks the leases of a queue, or of one of its shards, as long as the transaction is open.
async fn lock_leases(outbox: &SeaOrmOutbox, queue: &QueueName, shard: Option<Shard>) -> DatabaseTransaction {
    let open = outbox.connection().begin().await.expect("begin");
    let which = if shard.is_some() { "AND shard = :shard" } else { "" };
    let shard = shard.map_or(0, Shard::number);
    let text = format!("SELECT fence FROM claimstream_lease WHERE queue = :queue {which} FOR UPDATE");
    let lease: Statement = bind(&text, &args(queue, shard, uuid::Uuid::nil(), 0));
    assert!(!rows(&open, lease).await.is_empty(), "there is a lease");
    open
}

/// The first message of each shard, the locked one's first.
fn one_of_each(claimed: &[Claimed]) -> Vec<Receipt> {
    let mut firsts: Vec<Receipt> = Vec::new();
    for claimed in claimed {
        if firsts.iter().all(|known| known.shard != claimed.receipt.shard) {
            firsts.push(claimed.receipt.clone());
        }
    }
    firsts
}

impl Place {
    /// One shard's lease is locked. Renewals and settlements of the others take effect in the same call, and those of the
    /// locked one are not known; they take effect when they are asked for again and the row is free.
    async fn answers_for_itself(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let a = instance(1, &setup.a, &queue);
        let firsts = one_of_each(&a.claim(5_000).await);
        assert!(firsts.len() > 2, "of several shards");
        let open = lock_leases(&setup.b, &queue, Some(firsts[0].shard)).await;
        let lease = Lease::new(LEASE).expect("a lease");
        let renewed = a.ports.settlements.renew(&firsts, lease).await.expect("answers");
        self.waits(&format!("{} renewals, one of a locked lease", firsts.len()), &setup, 1);
        assert_eq!(renewed[0], Renewed::Unknown);
        assert!(renewed[1..].iter().all(|one| matches!(one, Renewed::Extended(_))), "{renewed:?}");
        let settlements: Vec<_> = firsts.iter().map(done).collect();
        let settled = a.ports.settlements.settle(&settlements).await.expect("answers");
        self.waits(&format!("{} settlements, one of the same lease", firsts.len()), &setup, 1);
        assert_eq!(settled[0], Settled::Unknown);
        assert!(settled[1..].iter().all(|one| *one == Settled::Accepted), "{settled:?}");
        open.rollback().await.expect("rollback");
        let again = a.renew_all(&firsts[..1], LEASE).await;
        assert!(matches!(again[..], [Renewed::Extended(_)]), "{again:?}");
        assert_eq!(a.settle_all(&settlements[..1]).await, [Settled::Accepted]);
    }

    /// Nothing is known at all, so it is an error, and nothing has changed.
    async fn passes_alone(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let a = instance(1, &setup.a, &queue);
        let held = a.claim(1).await.remove(0).receipt;
        let open = lock_leases(&setup.b, &queue, Some(held.shard)).await;
        let refused = setup.a.settle(&[done(&held)]).await.expect_err("it is locked");
        self.waits("a settlement of a locked lease", &setup, 1);
        assert_eq!(refused.kind(), StoreErrorKind::Transient, "{refused}");
        let lease = Lease::new(LEASE).expect("a lease");
        let refused = setup.a.renew(std::slice::from_ref(&held), lease).await.expect_err("it is locked");
        assert_eq!(refused.kind(), StoreErrorKind::Transient, "{refused}");
        self.waits("and a renewal of it", &setup, 1);
        open.rollback().await.expect("rollback");
        assert_eq!(a.settle_all(&[done(&held)]).await, [Settled::Accepted]);
    }

    /// So many statements of A have waited for the locked row until the server ended the wait, a second later: the call that met it first,
    /// and none after it.
    fn waits(&self, what: &str, setup: &Setup, times: usize) {
        let waits = setup.lock_timeouts(0);
        self.figure(&format!("{what}: {waits} waits for it"));
        assert_eq!(waits, times, "{what}");
    }

    /// All the leases of one queue are locked, and more calls want to write them than there are connections. Another queue of
    /// the same process goes on, because each call waits for its lease once, for a second.
    async fn leaves_connections(&self) {
        let backend = SeaOrmBackend::server(self.server.name, &self.url, self.strategy.name());
        let shards = ShardCount::new(16).expect("a number of shards");
        let url = backend.database_of(shards).await.expect("a database");
        let wire = Wire::to(&url).await.expect("a port");
        let outbox =
            SeaOrmOutbox::open(&wire.url, OpenOptions { shards, ..backend.options() }).await.expect("open");
        let other =
            SeaOrmOutbox::open(&url, OpenOptions { shards, ..backend.options() }).await.expect("open");
        let (locked, free) = (Fixture::fresh_queue(), Fixture::fresh_queue());
        for queue in [&locked, &free] {
            let message = |n| NewMessage::json(queue.clone(), &n).expect("a message");
            let messages: Vec<_> = (0..300).map(message).collect();
            outbox.enqueue_now(&messages).await.expect("enqueue");
        }
        let a = instance(1, &outbox, &locked);
        let firsts = one_of_each(&a.claim(250).await);
        assert!(firsts.len() > 10, "more shards than connections");
        let open = lock_leases(&other, &locked, None).await;
        let retried = |receipt: &Receipt| {
            let reason = claimstream_domain::Reason::new("later");
            let disposition = Disposition::Retry { after: Duration::ZERO, reason };
            Settlement { receipt: receipt.clone(), disposition }
        };
        let stuck = firsts.iter().map(|receipt| {
            let (outbox, settlement) = (outbox.clone(), retried(receipt));
            tokio::spawn(async move { outbox.settle(&[settlement]).await })
        });
        let stuck: Vec<_> = stuck.collect();
        statement_waits(&other).await;
        let b = instance(2, &outbox, &free);
        for _ in 0..10 {
            let taken = outbox.claim(&b.request(10, LEASE)).await.expect("a claim");
            let all: Vec<_> = taken.iter().map(|one| done(&one.receipt)).collect();
            assert_eq!(b.settle_all(&all).await, vec![Settled::Accepted; taken.len()]);
        }
        for one in join_all(stuck).await {
            let error = one.expect("no panic").expect_err("it is locked");
            assert_eq!(error.kind(), StoreErrorKind::Transient, "{error}");
        }
        let waits = wire.commands.lock_timeouts();
        self.figure(&format!("{waits} waits for {} locked leases", firsts.len()));
        assert!(waits <= firsts.len(), "{waits} waits for {} locked leases", firsts.len());
        let asked = "SELECT CAST(@@innodb_lock_wait_timeout AS SIGNED)";
        let waits = outbox.relay_connection().query_one_raw(Statement::from_string(DbBackend::MySql, asked));
        let waits = waits.await.expect("an answer").expect("a row");
        assert_eq!(waits.try_get_by_index::<i64>(0).expect("a number"), 1, "seconds");
        open.rollback().await.expect("rollback");
    }
}
