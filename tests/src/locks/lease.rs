use std::time::Instant;

use claimstream_domain::{ClaimId, InstanceId};
use sea_orm::{TransactionTrait, Value};

use super::{BATCH, Place, ROUNDS, Scene, bytes, id, ids, instance, now_micros, rows, run, sql, walks};
use crate::Suite;

/// Adds what is said about locks where shards are leased.
pub(super) fn add_to(suite: &mut Suite, place: Place) {
    let name = |what: &str| format!("{}::{}::locks::{what}", place.server.name, place.strategy);
    let waits = place.clone();
    suite.add_async_trial(
        &name("a_settlement_in_flight_hinders_no_producer_and_no_other_shard"),
        async move {
            waits.passes_by().await;
        },
    );
    let plans = place.clone();
    suite.add_async_trial(&name("claim_statements_walk_the_primary_key"), async move {
        plans.walks_the_primary_key_under_a_lease().await;
    });
    suite.add_async_trial(&name("a_claim_locks_no_message"), async move { place.locks_a_lease().await });
}

impl Place {
    /// While A's settlement is open in one shard, a producer inserts there at once and B claims elsewhere at once.
    async fn passes_by(&self) {
        let scene = self.scene().await;
        let (mut claims, mut inserts) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let shard = scene.six_messages().await;
            let held = shard.claimer.claim(6).await;
            assert_eq!(ids(&held), shard.ids);
            let open = scene.a.connection().begin().await.expect("begin");
            let args = self.lease_args(&scene, &shard.queue, shard.number, &shard.ids).await;
            assert_eq!(run(&open, sql("lease_done", &args)).await, 6);
            inserts.push(scene.produce(&shard).await);
            let elsewhere = scene.fill().await;
            let begun = Instant::now();
            assert_eq!(instance(3, &scene.b, &elsewhere).claim(BATCH as u32).await.len(), BATCH);
            claims.push(begun.elapsed());
            open.rollback().await.expect("rollback");
        }
        self.at_once("a claim beside an open settlement", &claims);
        self.at_once("an insert beside an open settlement", &inserts);
    }

    async fn walks_the_primary_key_under_a_lease(&self) {
        let scene = self.scene().await;
        let queue = scene.fill().await;
        let claimed = instance(2, &scene.b, &queue).claim(BATCH as u32).await;
        let args = self.lease_args(&scene, &queue, claimed[0].receipt.shard.number(), &ids(&claimed)).await;
        let names = ["lease_peek", "lease_read", "lease_charge", "lease_done", "lease_retry", "lease_park"];
        let mut wrong = Vec::new();
        for name in names {
            let plan = scene.explain(sql(name, &args)).await;
            self.figure(&format!("{name}: {plan:?}"));
            if !walks(&plan) {
                wrong.push(format!("{name}: {plan:?}"));
            }
        }
        assert!(wrong.is_empty(), "not along the primary key, or sorted: {wrong:#?}");
    }

    async fn locks_a_lease(&self) {
        let scene = self.scene().await;
        let queue = scene.fill().await;
        let claimed = instance(2, &scene.b, &queue).claim(BATCH as u32).await;
        let args = self.lease_args(&scene, &queue, claimed[0].receipt.shard.number(), &ids(&claimed)).await;
        let open = scene.a.connection().begin().await.expect("begin");
        let thread = scene.thread(&open).await;
        let read = rows(&open, sql("lease_read", &args)).await;
        assert_eq!((read.len(), id(&read[0])), (BATCH, claimed[0].message.id));
        assert_eq!(run(&open, sql("lease_write", &args)).await, 1);
        assert_eq!(run(&open, sql("lease_prove", &args)).await, 1);
        let elsewhere = ("holder", vec![Value::Bytes(Some(b"another.".to_vec()))]);
        let others: super::Args = args.iter().cloned().chain([elsewhere]).collect();
        assert!(rows(&open, sql("lease_read", &others)).await.is_empty(), "it is in other hands");
        let locked = scene.rows_locked(thread).await;
        self.figure(&format!(
            "{locked} rows locked after lease_read, lease_write and lease_prove of {BATCH}"
        ));
        assert!(locked <= 2, "{locked} rows locked");
        open.rollback().await.expect("rollback");
    }

    /// Values for every statement about a shard that is leased.
    async fn lease_args(
        &self,
        scene: &Scene,
        queue: &claimstream_domain::QueueName,
        shard: u16,
        ids: &[claimstream_domain::MessageId],
    ) -> super::Args {
        let mut args = super::args(queue, shard, ClaimId::new(InstanceId(1), 1).uuid(), BATCH);
        let row = "SELECT holder, fence FROM claimstream_lease WHERE queue = :queue AND shard = :shard";
        let row = rows(scene.a.connection(), super::bind(row, &args)).await.remove(0);
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
            ("first", vec![0_i64.into()]),
            ("last", vec![now_micros().into()]),
            ("after", vec![1_i64.into()]),
            ("reason", vec![Value::Bytes(Some(b"busy".to_vec()))]),
            ("ids", ids.iter().map(|id| bytes(id.uuid())).collect()),
        ]);
        args
    }
}
