use claimstream_domain::MessageId;
use claimstream_ports::StoreError;

use crate::{
    database::{typed_row::row, unit::Row},
    messages::by_id::Ids,
    strategy::shard_lease::{
        claim::{
            candidate::Candidate, due_row::DueColumns, payloads::Payloads, pick::Picked,
            waiting_keys::WaitingKeys,
        },
        shard_state::ShardState,
        watermark::{Start, Watermark},
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
    /// How many rows were read, second entries of messages too.
    pub(crate) rows: usize,
    pub(crate) seen: Ids,
    /// A message has a second entry.
    pub(crate) has_twins: bool,
    pub(crate) candidates: Vec<Candidate>,
    /// Of the candidates, at the same positions.
    pub(crate) payloads: Payloads,
    pub(crate) waiting_keys: WaitingKeys,
}

/// How far a shard was read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extent {
    /// From where on it was read; where keys are in order, it says when the shard was last read from its beginning.
    pub(crate) start: Start,
    /// The first due time of all that was read.
    pub(crate) oldest: Option<i64>,
    /// The place of the row that was read last.
    pub(crate) last: Option<(i64, MessageId)>,
    /// The first due time that was too late to be handed out.
    too_young: Option<i64>,
    /// Whether rows were left out because all of them wait.
    has_gaps: bool,
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

    /// Whether a message that is due at this moment may have been written after one of its key that lies below and was not read.
    fn is_too_young(&self, due: i64) -> bool {
        self.extent.start.read_at.is_some_and(|read_at| due > read_at)
    }

    /// Whether all that lies behind is too young.
    pub(crate) fn is_at_its_end(&self) -> bool {
        self.extent.last.is_some_and(|(due, _)| self.is_too_young(due))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.extent.oldest.is_none()
    }

    /// The fence of the lease; none before a row was read.
    pub(crate) fn fence(&self) -> Option<i64> {
        self.lease.as_ref().map(|lease| lease.fence)
    }

    /// Whether nothing was in flight in the shard, so that the next claim begins a new lease.
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

    /// Adds a row. A second entry of a message is left out, and so is a message that waits behind a key that was skipped.
    pub(crate) fn add(&mut self, row: Row, at: DueColumns) -> Result<(), StoreError> {
        let candidate = at.candidate(&row, self.now)?;
        let Candidate { id, due, .. } = candidate;
        self.rows += 1;
        self.extent.last = Some((due, id));
        if !self.seen.insert(id) {
            let known = self.candidates.iter().find(|known| known.id == id);
            self.has_twins |= known.is_some_and(|known| known.due != due);
            return Ok(());
        }
        self.extent.oldest = self.extent.oldest.or(Some(due));
        if candidate.key.is_some() && self.is_too_young(due) {
            self.extent.too_young = self.extent.too_young.or(Some(due));
        } else if !self.waiting_keys.blocks(candidate.key.as_ref()) {
            self.candidates.push(candidate);
            self.payloads.push(id, row, at);
        }
        Ok(())
    }

    /// Whether any of the messages waits that were read.
    pub(crate) fn some_wait(&self, state: &ShardState, picked: &Picked) -> bool {
        self.left_out(state, picked).next().is_some()
    }

    /// The watermark after this read, where keys are in order: below it everything is in flight once `picked` is. All that is
    /// not must be seen again, because a message that waits for its retry blocks its key.
    pub(crate) fn watermark(&self, state: &ShardState, picked: &Picked) -> Option<Watermark> {
        let Extent { start: Start { read_at, since, .. }, oldest, last, too_young, has_gaps, .. } =
            self.extent;
        let waiting = self.left_out(state, picked).next().map(|candidate| candidate.due);
        let low = match has_gaps {
            true => oldest,
            false => [waiting, too_young, last.map(|(due, _)| due)].into_iter().flatten().min(),
        };
        Some(Watermark { low: low?, read_at: read_at?, since })
    }

    /// The messages that are neither in flight nor picked, the oldest first.
    fn left_out(&self, state: &ShardState, picked: &Picked) -> impl Iterator<Item = &Candidate> {
        // Both are in the order of the candidates.
        let mut taken = picked.taken.iter().peekable();
        let rest = self.candidates.iter().enumerate().filter(move |(n, _)| taken.next_if_eq(&n).is_none());
        rest.map(|(_, one)| one).filter(|one| !state.in_flight.contains_key(&one.id))
    }

    /// Skips all that was read so far, because all of it waits.
    pub(crate) fn skip(&mut self) {
        let keys = self.candidates.drain(..).filter_map(|candidate| candidate.key);
        keys.for_each(|key| self.waiting_keys.note(key));
        self.payloads.drop_rows();
        self.seen.clear();
        self.extent.has_gaps = true;
    }
}
