use claimstream_domain::ShardCount;
use claimstream_ports::{StoreError, StoreErrorKind};

use super::handle::SeaOrmOutbox;
use crate::resharding::{
    RESHARD,
    cut::{self, Undone},
    mending::mend,
    plan::{ReshardPlan, must_be_open, plan, plan_end},
    run,
    shards::status,
    status::{ReshardStep, ShardStatus},
};

impl SeaOrmOutbox {
    /// How many shards queues have now, and how far a resharding is.
    pub async fn shard_status(&self) -> Result<ShardStatus, StoreError> {
        self.detached(RESHARD, move |state| async move {
            status(state.db.relay(), state.db.sql).await.map(|(status, _)| status)
        })
        .await
    }

    /// What [`reshard`](Self::reshard) would do now, and changes nothing.
    ///
    /// A number that would not do, and another resharding that is not ended, are refused as `Misconfigured`. Whether the user has the rights
    /// shows when it begins.
    pub async fn plan_resharding(&self, to: ShardCount) -> Result<ReshardPlan, StoreError> {
        self.detached(RESHARD, move |state| async move { plan(&state.db, to).await }).await
    }

    /// What [`end_resharding`](Self::end_resharding) would do now, and changes nothing; `None` if there is none to end.
    ///
    /// One whose messages are written by the new number while shards are closed is refused as `Misconfigured`.
    pub async fn plan_end_of_resharding(&self) -> Result<Option<ReshardPlan>, StoreError> {
        self.detached(RESHARD, move |state| async move { plan_end(&state.db).await }).await
    }

    /// Cuts the queues of this database into more shards while they are at work: `to` is a multiple of the number that there is.
    ///
    /// It answers when all shards are open, and says each step to `said`. It may be stopped at any point, killed too, and called
    /// again. Writers of any version and language go on: triggers send each message with an ordering key to its new shard, so the user needs
    /// the right to make triggers, and must stay as long as they do, and keep its rights. [`end_resharding`](Self::end_resharding) takes
    /// them away.
    ///
    /// A number that would not do, another resharding that is not ended, and rights that are missing are refused as `Misconfigured`,
    /// before anything has changed. It is `Transient` if the triggers could not be made, because some transaction was always open; what was
    /// made is taken back, and the error says so.
    pub async fn reshard(
        &self,
        to: ShardCount,
        said: impl Fn(ReshardStep) + Send + Sync + 'static,
    ) -> Result<(), StoreError> {
        self.detached(RESHARD, move |state| async move { run::reshard(&state.db, to, &said).await }).await
    }

    /// Takes the triggers of a resharding away whose shards are all open, or takes one back whose messages are written by the old count
    /// still; `false` if there is none.
    ///
    /// From then on each writer has to know the new count by itself, so every program that writes messages must have been opened since:
    /// one that knows the old count would write messages of a key into two shards.
    pub async fn end_resharding(&self) -> Result<bool, StoreError> {
        self.detached(RESHARD, move |state| async move {
            let (now, _) = status(state.db.relay(), state.db.sql).await?;
            let Some(resharding) = now.resharding else { return Ok(false) };
            if !now.is_cut {
                match cut::undo(&state.db, resharding.to()).await? {
                    Undone::Yes => return Ok(true),
                    Undone::Later => return Err(StoreError::new(StoreErrorKind::Transient, RESHARD, OPEN)),
                    Undone::IsCut => {}
                }
            }
            must_be_open(&now, resharding)?;
            mend(&state.db, resharding).await?;
            if cut::end(&state.db, resharding.to()).await? {
                return Ok(true);
            }
            Err(StoreError::new(StoreErrorKind::Transient, RESHARD, OPEN))
        })
        .await
    }
}

const OPEN: &str = "a transaction that has used the tables of messages is open; end it, or try again";
