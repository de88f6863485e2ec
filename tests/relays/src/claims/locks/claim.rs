//! Which calls wait for a claim by rows, and how many rows it locks.
//! Promise: a claim under `skip_locked`, and a producer, never wait for another's open claim

use claimstream_sea_orm::Strategy;
use sea_orm::{ConnectionTrait, TransactionTrait};
use uuid::Uuid;

use super::{
    place::{BATCH, Place},
    rows::{args, id, rows, run},
};
use crate::{
    ids,
    statement::{bytes, sql},
};

impl Place {
    /// While A holds its claim transaction, B gets the next messages and a producer inserts; neither waits.
    pub(super) async fn steps_over(&self) {
        let setup = self.setup().await;
        let shard = setup.six_messages().await;
        let open = setup.a.connection().begin().await.expect("begin");
        let held = rows(&open, sql("claim/lock", &shard.args(3))).await;
        let held: Vec<_> = held.iter().map(id).collect();
        assert_eq!(held, shard.ids[..3]);
        assert_eq!(ids(&shard.claimer.claim(3).await), shard.ids[3..]);
        assert_eq!(setup.lock_timeouts(1), 0, "the claim waited for a lock");
        setup.produce(&shard).await;
        open.rollback().await.expect("rollback");
        assert_eq!(shard.claim_all(3).await, shard.ids[..3]);
    }

    /// While A holds its claim transaction, a producer inserts and does not wait; B gets its messages when A is done.
    pub(super) async fn takes_turns(&self) {
        let setup = self.setup().await;
        for commits in [true, false] {
            let shard = setup.six_messages().await;
            let open = setup.a.connection().begin().await.expect("begin");
            let taken = open.execute_raw(sql("claim/take", &shard.args(3))).await.expect("claim_take");
            assert_eq!(taken.rows_affected(), 3);
            let claimer = shard.claimer.clone();
            let claim = tokio::spawn(async move { claimer.claim(3).await });
            setup.produce(&shard).await;
            if commits { open.commit().await } else { open.rollback().await }.expect("an end");
            let got = ids(&claim.await.expect("a claim"));
            assert_eq!(got.len(), 3, "B got {got:?}");
            let of_a = got.iter().any(|id| shard.ids[..3].contains(id));
            assert!(!(commits && of_a), "B got {got:?}, of which A has some: {:?}", shard.ids);
        }
    }

    pub(super) async fn locks_its_batch(&self) {
        let setup = self.setup().await;
        let queue = setup.fill().await;
        let open = setup.a.connection().begin().await.expect("begin");
        let thread = setup.thread(&open).await;
        let mut args = args(&queue, 1, Uuid::from_u128(9), BATCH);
        if self.strategy == Strategy::SkipLocked {
            let locked = rows(&open, sql("claim/lock", &args)).await;
            assert_eq!(locked.len(), BATCH);
            self.few(setup.rows_locked(thread).await, "claim_lock");
            let due = |n: usize| vec![locked[n].try_get_by_index::<i64>(1).expect("due_at").into()];
            let ids = locked.iter().map(|row| bytes(id(row).uuid())).collect();
            args.extend([("first", due(0)), ("last", due(BATCH - 1)), ("ids", ids)]);
            assert_eq!(run(&open, sql("claim/mark", &args)).await, BATCH as u64);
            self.few(setup.rows_locked(thread).await, "claim_mark");
        } else {
            assert_eq!(run(&open, sql("claim/take", &args)).await, BATCH as u64);
            self.few(setup.rows_locked(thread).await, "claim_take");
        }
        open.rollback().await.expect("rollback");
    }

    fn few(&self, locked: u64, after: &str) {
        self.figure(&format!("{locked} rows locked after {after} of {BATCH}"));
        assert!((1..=2 * BATCH as u64 + 2).contains(&locked), "{locked} rows locked after {after}");
    }
}
