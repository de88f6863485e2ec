//! Promise: settlements and renewals lock rows in one order

use claimstream_domain::{Disposition, Lease, NewMessage, Receipt, Settled, Settlement};
use sea_orm::TransactionTrait;
use tokio::task::JoinHandle;

use super::{
    place::Place,
    rows::{args, instance, message, rows},
    setup::Setup,
};
use crate::{
    Fixture, Instance, LEASE, Suite,
    statement::{Args, bytes, sql},
};
use claimstream_testbed::statement_waits;

/// Adds what is said about the locks of settlements and renewals.
pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let name = |what: &str| format!("{}::{}::locks::{what}", place.server.name, place.strategy);
    let (settles, renews) = (place.clone(), place.clone());
    // Guard: rows are locked in one order | adapters/sea-orm/src/strategy/shared/group.rs: receipts unsorted
    suite.add_async_test(&name("a_settlement_that_waits_has_locked_nothing_that_comes_after"), async move {
        Claims::of(&settles).await.waits_in_the_first_shard(settle).await;
    });
    suite.add_async_test(&name("a_renewal_that_waits_has_locked_nothing_that_comes_after"), async move {
        Claims::of(&renews).await.waits_in_the_first_shard(renew).await;
    });
}

/// Two claimed messages, the first and the last by the clustered key, in two shards.
struct Claims {
    setup: Setup,
    claimer: Instance,
    first: Receipt,
    last: Receipt,
}

impl Claims {
    async fn of(place: &Place) -> Self {
        let setup = place.setup().await;
        let queue = Fixture::fresh_queue();
        let messages: Vec<_> = (0..40).map(|n| message(&queue, n)).map(unordered).collect();
        setup.a.enqueue_now(&messages).await.expect("enqueue");
        let claimer = instance(2, &setup.b, &queue);
        let mut receipts: Vec<_> = claimer.take(40).await.into_iter().map(|c| c.receipt).collect();
        receipts.sort_by_key(|receipt| (receipt.shard, receipt.locator, receipt.message));
        let (first, last) = (receipts[0].clone(), receipts[39].clone());
        assert_ne!(first.shard, last.shard);
        Self { setup, claimer, first, last }
    }

    /// While a transaction holds the first, a call that names the last before the first waits, and holds no lock.
    async fn waits_in_the_first_shard(self, write: fn(Instance, [Receipt; 2]) -> JoinHandle<()>) {
        let Self { setup, claimer, first, last } = self;
        let holder = setup.a.connection().begin().await.expect("begin");
        assert_eq!(rows(&holder, sql("settle/find", &of(&first))).await.len(), 1);
        let waiting = write(claimer, [last.clone(), first]);
        statement_waits(&setup.a).await;
        let mut at_once = sql("settle/find", &of(&last));
        at_once.sql += " NOWAIT";
        assert_eq!(rows(setup.a.connection(), at_once).await.len(), 1);
        holder.rollback().await.expect("rollback");
        waiting.await.expect("an answer");
    }
}

fn settle(by: Instance, receipts: [Receipt; 2]) -> JoinHandle<()> {
    let done = |receipt| Settlement { receipt, disposition: Disposition::Done { emit: vec![] } };
    tokio::spawn(async move { assert_eq!(by.settle_all(&receipts.map(done)).await, [Settled::Accepted; 2]) })
}

fn renew(by: Instance, receipts: [Receipt; 2]) -> JoinHandle<()> {
    let lease = Lease::new(LEASE).expect("a lease");
    tokio::spawn(async move {
        let renewed = by.ports.settlements.renew(&receipts, lease).await.expect("renew");
        assert_eq!(renewed.len(), 2);
    })
}

fn unordered(message: NewMessage) -> NewMessage {
    NewMessage { ordering_key: None, ..message }
}

fn of(receipt: &Receipt) -> Args {
    let mut args = args(&receipt.queue, receipt.shard.number(), receipt.claim.uuid(), 1);
    args.extend([
        ("ids", vec![bytes(receipt.message.uuid())]),
        ("lease_end", vec![receipt.locator.0.into()]),
    ]);
    args
}
