use std::time::Duration;

use claimstream_domain::{Disposition, Settlement};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::ConnectionTrait;

use crate::{
    database::{
        args::Args, classify::is_locked_by_another, clock::micros, held::Held, retries::Early, unit::run,
    },
    dead_letters::letters::bury,
    strategy::{
        shard_lease::{
            lease::{args::span, written::Written},
            leases::ShardLease,
            settle::{
                proofs::Proofs,
                shard_ends::{SETTLE, ShardEnds},
            },
            shard_key::ShardKey,
        },
        shared::children::{children, emit},
    },
};

impl ShardLease {
    /// Ends all of the claims in one transaction, or none if one is not ours any more; waits no longer than `timeout` for
    /// other calls of this process.
    pub(crate) async fn settle_together(
        &self,
        settlements: &[Settlement],
        timeout: Duration,
    ) -> Result<bool, StoreError> {
        let keys = ShardKey::all_of(settlements.iter().map(|settlement| &settlement.receipt));
        let on = Held::for_transactions(&self.db);
        let turn = self.turn(SETTLE, &keys, &on, timeout).await?;
        let settled = self.settle_in_turn(&on, keys, settlements).await;
        // First the connection: the call whose turn is next then finds it at hand.
        on.rest();
        drop(turn);
        settled
    }

    async fn settle_in_turn(
        &self,
        on: &Held<'_>,
        keys: Vec<ShardKey>,
        settlements: &[Settlement],
    ) -> Result<bool, StoreError> {
        let mut parts = self.parts(keys, settlements).await;
        if !parts.iter_mut().all(ShardEnds::note_ended) {
            return Ok(false);
        }
        if let Some(before) = parts.iter().find_map(ShardEnds::in_the_way) {
            let early = Early { before: before.to_string() };
            return Err(StoreError::new(StoreErrorKind::Transient, SETTLE, early));
        }
        let proofs = self.proofs(&parts);
        let written = self.written_whole(on, || self.write_ends(on, &parts, &proofs)).await;
        if proofs.are_together() && written.as_ref().is_err_and(is_locked_by_another) {
            let keys: Vec<_> = parts.iter().map(|part| part.key.clone()).collect();
            Box::pin(self.note_locked(on, &keys)).await;
        }
        let done = match written? {
            Written::Unknown(lost) => match proofs.first() {
                // All or nothing: one row answers for the whole transaction.
                Some(args) => self.has_token(args, lost).await?,
                None => true,
            },
            Written::Yes => true,
            Written::No => false,
        };
        if done {
            parts.into_iter().for_each(|part| part.apply(&self.known));
        }
        Ok(done)
    }

    /// Locks the states that settlements need, in the shards whose turn the call has.
    async fn parts<'a>(&self, keys: Vec<ShardKey>, settlements: &'a [Settlement]) -> Vec<ShardEnds<'a>> {
        let mut parts = Vec::new();
        for key in keys {
            let state = self.owned.state(&key).await;
            let here = |of: &&Settlement| (&of.receipt.queue, of.receipt.shard) == (&key.queue, key.shard);
            let ends = settlements.iter().filter(here).collect();
            parts.push(ShardEnds::of(key, state, ends));
        }
        parts
    }

    async fn write_ends(
        &self,
        on: &Held<'_>,
        parts: &[ShardEnds<'_>],
        proofs: &Proofs<'_>,
    ) -> Result<Written, StoreError> {
        self.db.begin_held(SETTLE, on).await?;
        self.failover.check(SETTLE, parts.iter().flat_map(|part| part.settlements.iter().copied()))?;
        if !self.write_parts(on, parts, proofs).await? {
            self.db.roll_back_held(SETTLE, on).await?;
            return Ok(Written::No);
        }
        let settlements = parts.iter().flat_map(|part| part.settlements.iter().copied());
        emit(&self.enqueueing, on, &children(settlements)).await?;
        Written::by_commit(self.db.commit_held(SETTLE, on).await)
    }

    /// Ends messages of one shard; false if one of them is not there any more.
    pub(super) async fn write_part(
        &self,
        on: &impl ConnectionTrait,
        part: &ShardEnds<'_>,
        lease: &Args,
    ) -> Result<bool, StoreError> {
        for (disposition, attempts, messages) in part.alike(self.order) {
            let args = span(lease.clone(), messages.iter().copied());
            let sql = match disposition {
                Disposition::Returned => continue,
                Disposition::Done { .. } => &self.db.sql.shard_lease.done,
                Disposition::Dead { reason, .. } => {
                    let letters =
                        self.db.sql.shard_lease.dead.bind(&args.clone().with("reason", reason.as_str()));
                    let ids: Vec<_> = messages.iter().map(|(_, id)| id.uuid()).collect();
                    bury(&self.db, on, SETTLE, letters, &ids).await?;
                    &self.db.sql.shard_lease.done
                }
                Disposition::Retry { .. } | Disposition::Postponed { .. } if self.order.blocks() => {
                    &self.db.sql.shard_lease.park
                }
                Disposition::Retry { .. } | Disposition::Postponed { .. } => &self.db.sql.shard_lease.retry,
            };
            let args = match disposition {
                Disposition::Retry { after, reason } | Disposition::Postponed { after, reason } => {
                    let args = args.with("after", micros(*after)).with("reason", reason.as_str());
                    let is_counted = matches!(disposition, Disposition::Retry { .. });
                    let args = args.with("counted", i64::from(is_counted));
                    args.with("attempts", i64::from(attempts.unwrap_or_default()))
                }
                _ => args,
            };
            if run(on, SETTLE, sql.bind(&args)).await? != messages.len() as u64 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
