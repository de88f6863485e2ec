use claimstream_domain::{Disposition, Settlement};
use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, clock::micros, dialect::Dialect, held::Held, sql::Sql},
    strategy::shard_lease::{
        flow::Flow,
        leases::ShardLease,
        settle::shard_ends::ShardEnds,
        shard_state::{LeaseStatus, ShardState},
    },
};

/// The writes that prove the fences of a settlement's shards.
pub(crate) enum Proofs<'a> {
    /// Each shard has a statement of its own.
    Each(Vec<(&'a Sql, Args)>),
    /// One statement writes all of the leases.
    Together(Vec<Args>),
}

impl Proofs<'_> {
    /// The arguments of the first one, which answers for the whole transaction.
    pub(crate) fn first(&self) -> Option<&Args> {
        match self {
            Self::Each(proofs) => proofs.first().map(|(_, args)| args),
            Self::Together(leases) => leases.first(),
        }
    }

    /// Whether one statement writes all of the leases.
    pub(crate) fn are_together(&self) -> bool {
        matches!(self, Self::Together(_))
    }
}

impl ShardLease {
    /// How the fences of some shards are proven: together if there are several of one queue, with short lists, and none was
    /// found locked lately. On SQLite a statement is no round trip, and one commit ends them all in any case.
    pub(super) fn proofs(&self, parts: &[ShardEnds<'_>]) -> Proofs<'_> {
        let is_short = |part: &ShardEnds<'_>| part.state.in_flight.len() - part.ended.len() <= Self::LISTED;
        let is_one_queue = parts.windows(2).all(|two| two[0].key.queue == two[1].key.queue);
        let fits =
            (2..=Self::TOGETHER).contains(&parts.len()) && is_one_queue && self.db.dialect == Dialect::MySql;
        let is_quiet = |part: &ShardEnds<'_>| is_short(part) && !self.was_locked_lately(&part.key);
        match fits && parts.iter().all(is_quiet) {
            true => Proofs::Together(parts.iter().map(|part| self.lease_after(part)).collect()),
            false => Proofs::Each(parts.iter().map(|part| self.proof(part)).collect()),
        }
    }

    /// The statement that proves the fence of one shard, and its arguments.
    ///
    /// The list of messages in flight is written again only where one of them could come back, because a message that is done
    /// is gone, and no attempt is counted for it, listed or not; and where it is not known what the row says.
    fn proof(&self, part: &ShardEnds<'_>) -> (&Sql, Args) {
        let ShardEnds { key, state, ended, .. } = part;
        let in_flight = state.in_flight.len() - ended.len();
        if is_certain(part) && in_flight > 0 {
            return (
                &self.db.sql.shard_lease.prove,
                self.write_args(key, state.fence, state.fence, in_flight),
            );
        }
        (&self.db.sql.shard_lease.write, self.lease_after(part))
    }

    /// The arguments that write a lease as it stands after the settlement.
    fn lease_after(&self, part: &ShardEnds<'_>) -> Args {
        let ShardEnds { key, state, ended, .. } = part;
        let kept = if is_certain(part) { self.kept_until(state) } else { None };
        self.state_args(state, ended, key, state.fence, kept)
    }

    /// Until when a shard is kept that has nothing in flight any more; none if it is to be free.
    fn kept_until(&self, state: &ShardState) -> Option<i64> {
        let clock = &self.db.clock;
        let now = clock.estimate().filter(|_| state.flow.is_kept_up_with(clock.elapsed()))?;
        Some(now + micros(Flow::KEPT))
    }

    /// Proves the fences of all shards and ends their messages; false if one of the leases or of the messages is not ours.
    pub(super) async fn write_parts(
        &self,
        on: &Held<'_>,
        parts: &[ShardEnds<'_>],
        proofs: &Proofs<'_>,
    ) -> Result<bool, StoreError> {
        match proofs {
            Proofs::Each(proofs) => {
                for (part, (proof, lease)) in parts.iter().zip(proofs) {
                    let ours = self.write_lease(on, &part.key, proof, lease).await? == 1
                        && self.write_part(on, part, lease).await?;
                    if !ours {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Proofs::Together(leases) => {
                if self.write_leases(on, leases).await? != leases.len() as u64 {
                    return Ok(false);
                }
                for (part, lease) in parts.iter().zip(leases) {
                    if !self.write_part(on, part, lease).await? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }
}

/// Whether a settlement leaves nothing behind that could come back, in a shard whose row says what we know.
fn is_certain(part: &ShardEnds<'_>) -> bool {
    part.settlements.iter().all(is_done) && part.state.status != LeaseStatus::Unknown
}

fn is_done(end: &&Settlement) -> bool {
    matches!(end.disposition, Disposition::Done { .. })
}
