//! What a locked row costs those who do not want it.
//! Promise: a call waits a bounded time for a locked row, and only for the shards that it names

use std::time::{Duration, Instant};

use claimstream::Compose;
use claimstream_domain::{Claimed, Disposition, Lease, NewMessage, Receipt, Settled, Settlement, Shard};
use claimstream_ports::{Settlements, StoreErrorKind};
use claimstream_testbed::eventually;
use sea_orm::{ConnectionTrait, DatabaseTransaction, TransactionTrait};

use super::{
    place::Place,
    rows::{args, instance, rows},
    setup::Setup,
};
use crate::{Fixture, Instance, LEASE, Suite, backend::SeaOrmBackend, statement::bind, suite::RUNTIME};
use claimstream_testbed::statement_waits;

/// On SQLite each wait is five seconds long; this is for one call, with some time to spare.
const LONG: Duration = Duration::from_secs(20);

/// Adds it where shards are leased.
pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let name = |what: &str| format!("{}::{}::locks::{what}", place.server.name, place.strategy);
    let (each, mark) = (place.clone(), place.clone());
    // Guard: a locked or refused message fails no other one |
    // adapters/sea-orm/src/strategy/shard_lease/settle/mod.rs `settle_shard`, `settle_one_by_one`: ends with
    // the first error
    suite.add_async_test(&name("a_message_that_is_locked_fails_no_other_one"), async move {
        each.fails_alone().await;
    });
    // Guard: a locked lease shortens only waits for itself, and only until it was free |
    // adapters/sea-orm/src/strategy/shard_lease/owned_shards.rs: one mark for all shards, set by every lock
    // that is met
    suite.add_async_test(&name("who_has_met_a_locked_lease_waits_again_once_it_was_free"), async move {
        mark.waits_again().await;
    });
}

/// Adds the same for SQLite, where the whole file is locked.
pub(super) fn add_sqlite_to(suite: &mut Suite) {
    // Guard: a wait for a locked row is not repeated |
    // adapters/sea-orm/src/strategy/shard_lease/lease/write.rs `written_whole`: repeats it on SQLite;
    // settle/mod.rs: `restarting` instead of `restarting_briefly`
    let name = "sqlite::shard_lease::locks::a_locked_file_is_waited_for_in_bounded_time";
    suite.add_long("latency", name, || RUNTIME.block_on(waits_for_the_file()));
}

/// Another connection keeps the file from all who write.
async fn waits_for_the_file() {
    let backend = SeaOrmBackend::sqlite("shard_lease");
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    let peer = backend.open(&url, None).await.expect("open");
    let queue = Fixture::fresh_queue();
    outbox.enqueue_now(&[NewMessage::json(queue.clone(), &7).expect("a message")]).await.expect("enqueue");
    let a = instance(1, &outbox, &queue);
    let claimed = a.take_one().await;
    let open = peer.connection().begin().await.expect("begin");
    open.execute_unprepared("UPDATE claimstream_lease SET fence = fence WHERE fence < 0")
        .await
        .expect("a lock");
    let begun = Instant::now();
    let settlements = [done(&claimed)];
    let refused = outbox.settle(&settlements).await.expect_err("it is locked");
    assert_eq!(refused.kind(), StoreErrorKind::Transient, "{refused}");
    let lease = Lease::new(LEASE).expect("a lease");
    let receipts = [claimed.receipt.clone()];
    outbox.renew(&receipts, lease).await.expect_err("it is locked");
    let took = begun.elapsed();
    println!("locks: sqlite: a settlement and a renewal gave up after {took:?}");
    assert!(took < 2 * LONG, "they waited again and again: {took:?}");
    open.rollback().await.expect("rollback");
    assert_eq!(a.settle_all(&settlements).await, [Settled::Accepted]);
}

fn done(claimed: &Claimed) -> Settlement {
    Settlement { receipt: claimed.receipt.clone(), disposition: Disposition::Done { emit: vec![] } }
}

/// Locks a row of a shard as long as the transaction is open.
async fn lock(setup: &Setup, text: &str, of: &Receipt) -> DatabaseTransaction {
    let open = setup.b.connection().begin().await.expect("begin");
    let mut args = args(&of.queue, of.shard.number(), of.message.uuid(), 0);
    args.push(("low", vec![of.locator.0.into()]));
    let found = rows(&open, bind(text, &args)).await;
    assert_eq!(found.len(), 1, "there is such a row");
    open
}

const LEASE_ROW: &str =
    "SELECT fence FROM claimstream_lease WHERE queue = :queue AND shard = :shard FOR UPDATE";
const MESSAGE_ROW: &str = "SELECT id FROM claimstream_queue WHERE queue = :queue AND shard = :shard \
                           AND available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND \
                           AND id = :claim FOR UPDATE";

/// Settles while another session has the lease, until the settlement is seen to wait for it. Where the server ended the wait before that was seen,
/// the next message shows it.
async fn settle_while_locked(setup: &Setup, by: &Instance, claimed: &[Claimed]) -> Vec<Settled> {
    for claimed in claimed {
        let open = lock(setup, LEASE_ROW, &claimed.receipt).await;
        let before = setup.lock_timeouts(0);
        let (of, settlement) = (by.clone(), done(claimed));
        let settled = tokio::spawn(async move { of.ports.settlements.settle(&[settlement]).await });
        tokio::select! {
            _ = statement_waits(&setup.b) => {}
            () = eventually("an answer", || async { settled.is_finished() }) => {}
        }
        open.rollback().await.expect("rollback");
        match settled.await.expect("no panic") {
            Err(error) if error.kind() == StoreErrorKind::Transient && setup.lock_timeouts(0) > before => {
                assert_eq!(by.settle_all(&[done(claimed)]).await, [Settled::Accepted]);
            }
            settled => return settled.expect("it waited until the lease was free"),
        }
    }
    panic!("a lease was never locked for a moment only");
}

impl Place {
    /// Ten of one shard, the first of them locked.
    async fn fails_alone(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let a = instance(1, &setup.a, &queue);
        let claimed = of_one_shard(&a.claim(100).await, |_| true);
        let open = lock(&setup, MESSAGE_ROW, &claimed[0].receipt).await;
        let settlements: Vec<_> = claimed[..10].iter().map(done).collect();
        let settled = setup.a.settle(&settlements).await.expect("nine are known");
        let waits = setup.lock_timeouts(0);
        self.figure(&format!("ten settlements, one of a locked message: {waits} waits"));
        assert_eq!(settled[0], Settled::Unknown);
        assert_eq!(settled[1..], [Settled::Accepted; 9]);
        // With the others of its shard, with them once more, and alone.
        assert!(waits <= 3, "{waits} waits");
        open.rollback().await.expect("rollback");
        assert_eq!(a.settle_all(&settlements[..1]).await, [Settled::Accepted]);
        // That it was locked says nothing of the lease.
        assert_eq!(settle_while_locked(&setup, &a, &claimed[10..]).await, [Settled::Accepted]);
    }

    /// A lease was locked for long. From then on no statement waits for that one, until one has found it free; and for the
    /// others everybody waits as ever.
    async fn waits_again(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let a = instance(1, &setup.a, &queue);
        let all = a.claim(4_000).await;
        let here = of_one_shard(&all, |_| true);
        let there = of_one_shard(&all, |shard| shard != here[0].receipt.shard);
        let open = lock(&setup, LEASE_ROW, &here[0].receipt).await;
        let locked = setup.a.settle(&[done(&here[0])]).await.expect_err("it is locked");
        self.figure(&format!("refused: {locked}"));
        let waits = setup.lock_timeouts(0);
        setup.a.settle(&[done(&here[0])]).await.expect_err("it is locked");
        assert_eq!(setup.lock_timeouts(0), waits, "it waited again");
        open.rollback().await.expect("rollback");
        assert_eq!(settle_while_locked(&setup, &a, &there).await, [Settled::Accepted], "in another shard");
        assert_eq!(a.settle_all(&[done(&here[0])]).await, [Settled::Accepted]);
        assert_eq!(
            settle_while_locked(&setup, &a, &here[1..]).await,
            [Settled::Accepted],
            "in the same shard"
        );
    }
}

/// All that are of the first shard of some.
fn of_one_shard(claimed: &[Claimed], may_be: impl Fn(Shard) -> bool) -> Vec<Claimed> {
    let first = claimed.iter().map(|one| one.receipt.shard).find(|shard| may_be(*shard)).expect("a shard");
    claimed.iter().filter(|one| one.receipt.shard == first).cloned().collect()
}
