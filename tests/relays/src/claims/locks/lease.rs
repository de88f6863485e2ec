//! Promise: a claim under `shard_lease` locks no message, and a lease row that a frozen peer has locked
//! blocks no other shard

use claimstream_domain::{ClaimId, Disposition, InstanceId, Settled, Settlement};
use claimstream_ports::{ReleaseLeases, StoreErrorKind};
use sea_orm::{ConnectionTrait, DbBackend, QueryResult, Statement, TransactionTrait, Value};

use super::{
    place::{BATCH, Place},
    rows::{args, id, instance, now_micros, rows, run},
    setup::Setup,
};
use crate::{
    LEASE, Suite, ids,
    statement::{Args, bind, bytes, sql, sql_of_shards},
};
use claimstream_testbed::statement_waits;

/// Adds what is said about locks where shards are leased.
pub(super) fn add_to(suite: &mut Suite, place: Place) {
    let name = |what: &str| format!("{}::{}::locks::{what}", place.server.name, place.strategy);
    let waits = place.clone();
    suite.add_async_test(
        &name("a_settlement_in_flight_hinders_no_producer_and_no_other_shard"),
        async move {
            waits.passes_by().await;
        },
    );
    let plans = place.clone();
    // Guard: the joint write of leases names its index |
    // adapters/sea-orm/src/sql/shard_lease/write_all.mysql.sql: no `FORCE INDEX`
    suite.add_async_test(&name("claim_statements_walk_the_primary_key"), async move {
        plans.walks_the_primary_key_under_a_lease().await;
    });
    let frozen = place.clone();
    suite.add_async_test(&name("a_lease_that_a_frozen_peer_has_locked_delays_no_other_one"), async move {
        frozen.passes_over().await;
    });
    let broken = place.clone();
    suite.add_async_test(
        &name("a0_6_a_claim_that_breaks_while_it_writes_the_lease_leaves_everything_as_it_was"),
        async move { broken.breaks_half_way().await },
    );
    suite.add_async_test(&name("a_claim_locks_no_message"), async move { place.locks_a_lease().await });
}

impl Place {
    /// While A's settlement is open in one shard, a producer inserts there and B claims elsewhere; neither waits.
    async fn passes_by(&self) {
        let setup = self.setup().await;
        let shard = setup.six_messages().await;
        let held = shard.claimer.claim(6).await;
        assert_eq!(ids(&held), shard.ids);
        let open = setup.a.connection().begin().await.expect("begin");
        let args = self.lease_args(&setup, &shard.queue, shard.number, &shard.ids).await;
        assert_eq!(run(&open, sql("shard_lease/done", &args)).await, 6);
        setup.produce(&shard).await;
        let elsewhere = setup.fill().await;
        assert_eq!(instance(3, &setup.b, &elsewhere).claim(BATCH as u32).await.len(), BATCH);
        assert_eq!(setup.lock_timeouts(1), 0, "the claim waited for a lock");
        open.rollback().await.expect("rollback");
    }

    /// A's lease of a shard has run out, and a peer that was about to take it over stands still with the row locked. B takes
    /// what is in the other shards, without a wait and without an error, and the rest when the row is free. An operator's release says that the
    /// row is locked, after one wait.
    async fn passes_over(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let held = instance(1, &setup.a, &queue).claim(1).await.remove(0);
        let args = args(&queue, held.receipt.shard.number(), uuid::Uuid::nil(), 0);
        let lease = |sql: &str| bind(&format!("{sql} WHERE queue = :queue AND shard = :shard"), &args);
        let over = lease("UPDATE claimstream_lease SET held_until = '2000-01-01'");
        let over = setup.a.connection().execute_raw(over).await.expect("an update");
        assert_eq!(over.rows_affected(), 1);
        let open = setup.a.connection().begin().await.expect("begin");
        let row = lease("SELECT fence FROM claimstream_lease");
        let row = Statement { sql: format!("{} FOR UPDATE", row.sql), ..row };
        assert_eq!(rows(&open, row).await.len(), 1);
        let b = instance(2, &setup.b, &queue);
        let taken = b.claim(5_000).await;
        assert_eq!(setup.lock_timeouts(1), 0, "it waited for the row");
        assert!(taken.len() > 1_000, "{} from the other shards", taken.len());
        assert!(taken.iter().all(|claimed| claimed.receipt.shard != held.receipt.shard));
        let shown = setup.b.lease(&queue, held.receipt.shard).await.expect("a look").expect("a lease");
        let refused = setup.b.release_lease(&queue, held.receipt.shard, shown.lease.fence, "ann").await;
        let refused = refused.expect_err("the row is locked");
        assert!(refused.kind() == StoreErrorKind::Transient, "{refused}");
        assert!(refused.to_string().contains("another session has locked the lease of shard"), "{refused}");
        assert!(setup.lock_timeouts(1) <= 1, "it waited {} times", setup.lock_timeouts(1));
        open.rollback().await.expect("rollback");
        let suspect = b.take(1).await.remove(0);
        assert_eq!((suspect.message.id, suspect.attempt), (held.message.id, 2));
    }

    /// B's connection is killed while it waits to write the lease row. Nothing has changed, and A takes everything, each
    /// message for the first time.
    async fn breaks_half_way(&self) {
        let setup = self.setup().await;
        let shard = setup.six_messages().await;
        let returned = |receipt| Settlement { receipt, disposition: Disposition::Returned };
        let claimed = shard.claimer.claim(6).await;
        let returned: Vec<_> = claimed.into_iter().map(|one| returned(one.receipt)).collect();
        assert_eq!(shard.claimer.settle_all(&returned).await, [Settled::Accepted; 6]);
        let ask = |sql: &str| Statement::from_string(DbBackend::MySql, sql);
        let stands = "SELECT HEX(id), HEX(CONCAT_WS(' ', available_at, attempts, claim_id)) FROM claimstream_queue ORDER BY id";
        let stands = async || {
            let found = rows(setup.a.connection(), ask(stands)).await;
            let row = |row: &QueryResult| row.try_get_many_by_index::<(String, String)>().expect("a row");
            found.iter().map(row).collect::<Vec<_>>()
        };
        let before = stands().await;
        let open = setup.a.connection().begin().await.expect("begin");
        assert_eq!(rows(&open, ask("SELECT fence FROM claimstream_lease FOR UPDATE")).await.len(), 1);
        let (claimer, request) = (shard.claimer.clone(), shard.claimer.request(3, LEASE));
        let broken = tokio::spawn(async move { claimer.ports.claiming.claim(&request).await });
        let waiting = statement_waits(&setup.a).await;
        rows(setup.a.connection(), ask(&format!("KILL CONNECTION {waiting}"))).await;
        let answer = broken.await.expect("an answer");
        assert!(answer.is_err(), "a claim whose connection broke was answered with {answer:?}");
        open.rollback().await.expect("rollback");
        assert_eq!(stands().await, before);
        let taken = instance(1, &setup.a, &shard.queue).take(6).await;
        assert_eq!(ids(&taken), shard.ids);
        assert!(taken.iter().all(|claimed| claimed.attempt == 1), "an attempt was counted: {taken:?}");
    }

    async fn walks_the_primary_key_under_a_lease(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let claimed = instance(2, &setup.b, &queue).claim(BATCH as u32).await;
        let args = self.lease_args(&setup, &queue, claimed[0].receipt.shard.number(), &ids(&claimed)).await;
        let names = [
            "shard_lease/peek",
            "shard_lease/read",
            "shard_lease/charge",
            "shard_lease/done",
            "shard_lease/retry",
            "shard_lease/park",
        ];
        self.all_walk(&setup, &names, &args).await;
        self.several_shards_are_ranges(&setup, &args).await;
        self.a_look_reads_one_entry_of_each_shard(&setup, "shard_lease/peek", &args).await;
    }

    async fn locks_a_lease(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let claimed = instance(2, &setup.b, &queue).claim(BATCH as u32).await;
        let args = self.lease_args(&setup, &queue, claimed[0].receipt.shard.number(), &ids(&claimed)).await;
        let open = setup.a.connection().begin().await.expect("begin");
        let thread = setup.thread(&open).await;
        let read = rows(&open, sql("shard_lease/read", &args)).await;
        assert_eq!((read.len(), id(&read[0])), (BATCH, claimed[0].message.id));
        assert_eq!(run(&open, sql("shard_lease/write", &args)).await, 1);
        assert_eq!(run(&open, sql("shard_lease/prove", &args)).await, 1);
        let elsewhere = ("holder", vec![Value::Bytes(Some(b"another.".to_vec()))]);
        let others: Args = args.iter().cloned().chain([elsewhere]).collect();
        assert!(rows(&open, sql("shard_lease/read", &others)).await.is_empty(), "it is in other hands");
        assert_eq!(run(&open, sql_of_shards("shard_lease/write_all", &args, 4)).await, 1);
        let locked = setup.rows_locked(thread).await;
        self.figure(&format!(
            "{locked} rows locked after lease_read, lease_write and lease_prove of {BATCH}"
        ));
        assert!(locked <= 2, "{locked} rows locked");
        open.rollback().await.expect("rollback");
    }

    /// Values for every statement about a shard that is leased.
    async fn lease_args(
        &self,
        setup: &Setup,
        queue: &claimstream_domain::QueueName,
        shard: u16,
        ids: &[claimstream_domain::MessageId],
    ) -> Args {
        let mut args = args(queue, shard, ClaimId::new(InstanceId(1), 1).uuid(), BATCH);
        let row = "SELECT holder, fence FROM claimstream_lease WHERE queue = :queue AND shard = :shard";
        let row = rows(setup.a.connection(), bind(row, &args)).await.remove(0);
        let holder: Vec<u8> = row.try_get_by_index(0).expect("a holder");
        let fence: i64 = row.try_get_by_index(1).expect("a fence");
        args.extend([
            ("holder", vec![Value::Bytes(Some(holder.clone()))]),
            ("new_holder", vec![Value::Bytes(Some(holder))]),
            ("label", vec![Value::Bytes(None)]),
            ("fence", vec![fence.into()]),
            ("new_fence", vec![fence.into()]),
            ("until", vec![(now_micros() + 60_000_000).into()]),
            ("in_flight", vec![1_i64.into()]),
            ("flights", vec![Value::Bytes(Some(vec![0; 24]))]),
            ("token", vec![1_i64.into()]),
            ("attempts", vec![0_i64.into()]),
            ("first", vec![0_i64.into()]),
            ("last", vec![now_micros().into()]),
            ("after", vec![1_i64.into()]),
            ("counted", vec![1_i64.into()]),
            ("reason", vec![Value::Bytes(Some(b"busy".to_vec()))]),
            ("ids", ids.iter().map(|id| bytes(id.uuid())).collect()),
        ]);
        args
    }
}
