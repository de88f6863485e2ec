use std::collections::HashSet;

use claimstream_domain::{Claimed, Message, MessageId, OrderingKey, Reason, Receipt};
use claimstream_ports::StoreError;

use super::pick::Candidate;
use crate::{body::Body, unit::Row};

/// The due messages of a shard that `lease_read.sql` and `lease_read_on.sql` have found; here alone it is known what their
/// columns are.
#[derive(Default)]
pub(super) struct Due {
    pub(super) seen: HashSet<MessageId>,
    pub(super) now: i64,
    /// Of the shard's lease, as it was when the first page was read.
    pub(super) fence: Option<i64>,
    pub(super) dues: Vec<i64>,
    pub(super) candidates: Vec<Candidate>,
    rows: Vec<Row>,
    /// Of all payloads.
    bytes: usize,
    /// Whether it is all that is due in the shard.
    pub(super) is_whole: bool,
}

impl Due {
    /// How far we look at least for messages that do not wait behind their keys.
    pub(super) const REACH: usize = 200;

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Reads what every row of `lease_read.sql` has: the fence, and the server's time, which it answers.
    pub(super) fn begin(&mut self, row: &Row) -> Result<i64, StoreError> {
        (self.fence, self.now) = (Some(row.int(10)?), row.int(11)?);
        Ok(self.now)
    }

    /// Adds a row; false if it is there already.
    pub(super) fn add(&mut self, row: Row) -> Result<bool, StoreError> {
        let candidate = candidate(&row)?;
        if !self.seen.insert(candidate.id) {
            return Ok(false);
        }
        self.dues.push(row.int(1)?);
        self.bytes += row.maybe_lent(9)?.map_or(0, <[u8]>::len);
        self.candidates.push(candidate);
        self.rows.push(row);
        Ok(true)
    }

    /// The bytes of a payload, on average.
    pub(super) fn weight(&self) -> usize {
        self.bytes / self.rows.len().max(1)
    }

    /// The message at a position, with `lapsed` attempts that its row does not count yet.
    pub(super) fn claimed(&self, n: usize, receipt: Receipt, lapsed: u32) -> Result<Claimed, StoreError> {
        let row = &self.rows[n];
        let Body { ordering_key, headers, payload } = Body::read(row, 6)?;
        let (id, queue, shard) = (receipt.message, receipt.queue.clone(), receipt.shard);
        let attempt = row.number::<u32>(2)?.saturating_add(1 + lapsed);
        let last_error = row.maybe_text(3)?.map(Reason::new);
        let message = Message { id, queue, shard, ordering_key, headers, payload };
        Ok(Claimed { message, receipt, attempt, last_error })
    }
}

fn candidate(row: &Row) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id: MessageId::new(row.uuid(0)?),
        // A key that cannot be read holds nothing back: its message is buried when it is handed out.
        key: row.maybe_lent_text(6).ok().flatten().and_then(|key| OrderingKey::new(key).ok()),
        suspect: row.int(4)? != 0,
        parked: row.int(5)? != 0,
    })
}
