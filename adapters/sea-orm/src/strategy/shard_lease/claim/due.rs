use std::collections::HashSet;

use claimstream_domain::MessageId;
use claimstream_ports::StoreError;

use crate::{
    database::{typed_row::row, unit::Row},
    strategy::shard_lease::claim::{
        candidate::Candidate, due_row::DueColumns, payloads::Payloads, waiting_keys::WaitingKeys,
    },
};

/// The due messages of a shard that `shard_lease/read.sql` and `shard_lease/read_on.sql` have found.
#[derive(Default)]
pub(crate) struct Due {
    /// The server's time.
    pub(crate) now: i64,
    /// The shard's lease, as it was when the first page was read.
    lease: Option<LeaseRead>,
    pub(crate) extent: Extent,
    pub(crate) seen: HashSet<MessageId>,
    /// A message has a second entry.
    pub(crate) has_twins: bool,
    pub(crate) candidates: Vec<Candidate>,
    /// Of the candidates, at the same positions.
    pub(crate) payloads: Payloads,
    pub(crate) waiting_keys: WaitingKeys,
}

/// How far a shard was read.
#[derive(Default)]
pub(crate) struct Extent {
    /// The due time from which on it was read.
    pub(crate) low: i64,
    /// The first due time of all that was read.
    pub(crate) oldest: Option<i64>,
    /// The place of the row that was read last.
    pub(crate) last: Option<(i64, MessageId)>,
    /// Whether it is all that is due in the shard.
    pub(crate) is_whole: bool,
}

row! {
    /// What every row says of the shard's lease, and the server's time.
    struct LeaseRead of "shard_lease/read" { fence: i64, now: i64, is_free: bool }
}

impl Due {
    /// How far a claim looks at least for messages that do not wait behind their keys.
    pub(crate) const REACH: usize = 200;
    /// How many at a time from there on.
    pub(crate) const PAGE: usize = 2000;
    /// So many of these are read in one turn.
    pub(crate) const PAGES: usize = 4;

    pub(crate) fn is_empty(&self) -> bool {
        self.extent.oldest.is_none()
    }

    /// The fence of the lease; none before a row was read.
    pub(crate) fn fence(&self) -> Option<i64> {
        self.lease.as_ref().map(|lease| lease.fence)
    }

    /// Whether the shard had no holder.
    pub(crate) fn was_free(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_free)
    }

    /// Reads what every row of `shard_lease/read.sql` has: the fence, whether the lease is free, and the server's time, which it
    /// answers.
    pub(crate) fn begin(&mut self, row: &Row) -> Result<i64, StoreError> {
        let lease = LeaseRead::read(row)?;
        self.now = lease.now;
        self.lease = Some(lease);
        Ok(self.now)
    }

    /// Adds a row; false if it is there already. A message that waits behind a key that was skipped is left out.
    pub(crate) fn add(&mut self, row: Row, at: DueColumns) -> Result<bool, StoreError> {
        let candidate = at.candidate(&row)?;
        let Candidate { id, due, .. } = candidate;
        if !self.seen.insert(id) {
            let known = self.candidates.iter().find(|known| known.id == id);
            self.has_twins |= known.is_some_and(|known| known.due != due);
            return Ok(false);
        }
        self.extent.oldest = self.extent.oldest.or(Some(due));
        self.extent.last = Some((due, id));
        if !self.waiting_keys.blocks(candidate.key.as_ref()) {
            self.candidates.push(candidate);
            self.payloads.push(id, row, at);
        }
        Ok(true)
    }

    /// Skips all that was read so far, because all of it waits.
    pub(crate) fn skip(&mut self) {
        let keys = self.candidates.drain(..).filter_map(|candidate| candidate.key);
        keys.for_each(|key| self.waiting_keys.note(key));
        self.payloads.drop_rows();
        self.seen.clear();
    }
}
