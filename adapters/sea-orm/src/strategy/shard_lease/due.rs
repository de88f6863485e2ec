use std::collections::{HashMap, HashSet};

use claimstream_domain::{ByteBudget, Claimed, Message, MessageId, Reason, Receipt};
use claimstream_ports::StoreError;

use super::{
    pick::{Candidate, Picked},
    waiting_keys::WaitingKeys,
};
use crate::{
    database::{
        typed_row::{columns, row},
        unit::Row,
    },
    messages::body::{Body, BodyColumns, BodyRow},
};

/// The due messages of a shard that `shard_lease/read.sql` and `shard_lease/read_on.sql` have found.
#[derive(Default)]
pub(super) struct Due {
    /// The due time from which on it was read.
    pub(super) low: i64,
    pub(super) seen: HashSet<MessageId>,
    /// A message has a second entry.
    pub(super) has_twins: bool,
    pub(super) now: i64,
    /// Of the shard's lease, as it was when the first page was read.
    pub(super) fence: Option<i64>,
    /// Nobody held the lease then.
    pub(super) was_free: bool,
    /// The first due time of all that was read.
    pub(super) oldest: Option<i64>,
    pub(super) dues: Vec<i64>,
    pub(super) candidates: Vec<Candidate>,
    /// Each with where its columns stand.
    rows: Vec<(Row, DueColumns)>,
    /// Bodies that did not come along with their rows.
    bodies: HashMap<MessageId, BodyRow>,
    /// The place of the row that was read last.
    pub(super) last: Option<(i64, MessageId)>,
    pub(super) passed: WaitingKeys,
    /// Whether it is all that is due in the shard.
    pub(super) is_whole: bool,
}

impl Due {
    /// How far we look at least for messages that do not wait behind their keys.
    pub(super) const REACH: usize = 200;
    /// How many at a time from there on.
    pub(super) const PAGE: usize = 2000;
    /// So many of these are read in one turn.
    pub(super) const PAGES: usize = 4;

    pub(super) fn is_empty(&self) -> bool {
        self.oldest.is_none()
    }

    /// Reads what every row of `shard_lease/read.sql` has: the fence, whether the lease is free, and the server's time, which it
    /// answers.
    pub(super) fn begin(&mut self, row: &Row) -> Result<i64, StoreError> {
        let Lease { fence, now, is_free } = Lease::read(row)?;
        (self.fence, self.now, self.was_free) = (Some(fence), now, is_free);
        Ok(self.now)
    }

    /// Adds a row; false if it is there already. One that waits behind a key that was passed is left out.
    pub(super) fn add(&mut self, row: Row, at: DueColumns) -> Result<bool, StoreError> {
        let (candidate, due) = (candidate(&row, &at)?, row.int(at.place.due_at)?);
        if !self.seen.insert(candidate.id) {
            let known = self.candidates.iter().position(|known| known.id == candidate.id);
            self.has_twins |= known.is_some_and(|n| self.dues[n] != due);
            return Ok(false);
        }
        self.oldest = self.oldest.or(Some(due));
        self.last = Some((due, candidate.id));
        if !self.passed.blocks(candidate.key.as_ref()) {
            self.dues.push(due);
            self.candidates.push(candidate);
            self.rows.push((row, at));
        }
        Ok(true)
    }

    /// Passes all that was read so far, because all of it waits.
    pub(super) fn pass(&mut self) {
        self.candidates.drain(..).filter_map(|candidate| candidate.key).for_each(|key| self.passed.note(key));
        self.dues.clear();
        self.rows.clear();
        self.seen.clear();
    }

    /// The bytes of a payload, on average.
    pub(super) fn weight(&self) -> usize {
        (0..self.rows.len()).filter_map(|n| self.bytes(n)).sum::<usize>() / self.rows.len().max(1)
    }

    /// Those of the picked whose payloads have not come along; if they are not `measured`, nobody knows yet what they weigh.
    pub(super) fn left_out(&self, picked: &Picked, measured: bool) -> Vec<MessageId> {
        let is_left_out = |n: usize| {
            let (row, at) = self.body(n);
            at.is_left_out(row) && self.bytes(n).is_some() == measured
        };
        picked.taken.iter().filter(|n| is_left_out(**n)).map(|n| self.candidates[*n].id).collect()
    }

    pub(super) fn add_bodies(&mut self, bodies: HashMap<MessageId, BodyRow>) {
        self.bodies.extend(bodies);
    }

    /// The picked as far as they fit: as many as are `wanted` into what is left of the budget, further ones into `ahead`.
    pub(super) fn within(
        &self,
        picked: Picked,
        wanted: usize,
        budget: (ByteBudget, Option<usize>),
        ahead: ByteBudget,
    ) -> Picked {
        let bytes =
            |taken: &[usize]| taken.iter().map(|n| self.bytes(*n).unwrap_or_default()).collect::<Vec<_>>();
        let asked = picked.taken.len().min(wanted);
        let mut fitting = budget.0.fitting(budget.1, bytes(&picked.taken[..asked]));
        if fitting == asked {
            fitting += ahead.fitting(Some(0), bytes(&picked.taken[asked..]));
        }
        let Picked { mut taken, mut lapsed } = picked;
        taken.truncate(fitting);
        lapsed.retain(|n| taken.contains(n));
        Picked { taken, lapsed }
    }

    /// The bytes of a payload, if they are known.
    fn bytes(&self, n: usize) -> Option<usize> {
        match self.bodies.get(&self.candidates[n].id) {
            Some(body) => body.bytes,
            None => {
                let (row, at) = &self.rows[n];
                row.maybe_int(at.place.bytes).ok().flatten().and_then(|bytes| usize::try_from(bytes).ok())
            }
        }
    }

    /// The row that has the body of the message at a position, and where its columns stand.
    fn body(&self, n: usize) -> (&Row, &BodyColumns) {
        match self.bodies.get(&self.candidates[n].id) {
            Some(body) => (&body.row, &body.at),
            None => (&self.rows[n].0, &self.rows[n].1.body),
        }
    }

    /// The message at a position, with `lapsed` attempts that its row does not count yet.
    pub(super) fn claimed(&self, n: usize, receipt: Receipt, lapsed: u32) -> Result<Claimed, StoreError> {
        let ((row, at), (body, body_at)) = (&self.rows[n], self.body(n));
        let Body { ordering_key, headers, payload } = Body::read(body, body_at)?;
        let (id, queue, shard) = (receipt.message, receipt.queue.clone(), receipt.shard);
        let attempt = row.number::<u32>(at.place.attempts)?.saturating_add(1 + lapsed);
        let last_error = row.maybe_text(at.place.last_error)?.map(Reason::new);
        let message = Message { id, queue, shard, ordering_key, headers, payload };
        Ok(Claimed { message, receipt, attempt, last_error })
    }
}

fn candidate(row: &Row, at: &DueColumns) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id: MessageId::new(row.uuid(at.place.id)?),
        // A key that cannot be read holds nothing back: its message is buried when it is handed out.
        key: at.body.ordering_key(row).ok().flatten(),
        attempts: row.number(at.place.attempts)?,
        suspect: row.truth(at.place.suspect)?,
        parked: row.truth(at.place.parked)?,
    })
}

row! {
    /// What every row says of the shard's lease, and the server's time.
    struct Lease of "shard_lease/read" { fence: i64, now: i64, is_free: bool }
}

columns! {
    struct DueRow of "shard_lease/read", "shard_lease/read_on" {
        id,
        due_at,
        attempts,
        last_error,
        suspect,
        parked,
        bytes,
    }
}

/// Where the columns of a page stand.
#[derive(Clone, Copy)]
pub(super) struct DueColumns {
    place: DueRow,
    body: BodyColumns,
}

impl DueColumns {
    pub(super) fn of(row: &Row) -> Result<Self, StoreError> {
        Ok(Self { place: DueRow::of(row)?, body: BodyColumns::of(row)? })
    }
}
