use std::time::Duration;

use claimstream_domain::{ByteBudget, Claimed, Message, MessageId, Reason, Receipt};
use claimstream_ports::StoreError;

use crate::{
    database::unit::Row,
    messages::{
        body::{Body, BodyColumns, BodyRow},
        by_id::ById,
    },
    strategy::shard_lease::claim::{due_row::DueColumns, pick::Picked},
};

/// The rows of due messages, and the bodies that did not come along with them.
#[derive(Default)]
pub(crate) struct Payloads {
    rows: Vec<PayloadRow>,
    bodies: ById<BodyRow>,
}

struct PayloadRow {
    id: MessageId,
    row: Row,
    at: DueColumns,
    /// How many bytes the payload has, and whether it is not in the row; asked for several times, read once.
    bytes: Option<usize>,
    is_left_out: bool,
}

/// Whether the size of a payload is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    Known,
    Unknown,
}

impl Payloads {
    pub(crate) fn push(&mut self, id: MessageId, row: Row, at: DueColumns) {
        let (bytes, is_left_out) = (at.bytes(&row), at.body.is_left_out(&row));
        self.rows.push(PayloadRow { id, row, at, bytes, is_left_out });
    }

    /// Drops the rows; bodies that were read stay.
    pub(crate) fn drop_rows(&mut self) {
        self.rows.clear();
    }

    pub(crate) fn add(&mut self, bodies: ById<BodyRow>) {
        self.bodies.extend(bodies);
    }

    /// The bytes of a payload, on average.
    pub(crate) fn weight(&self) -> usize {
        (0..self.rows.len()).filter_map(|n| self.bytes(n)).sum::<usize>() / self.rows.len().max(1)
    }

    /// The bytes of the picked payloads.
    pub(crate) fn total(&self, picked: &Picked) -> usize {
        picked.taken.iter().filter_map(|n| self.bytes(*n)).sum()
    }

    /// Those of the picked whose payloads have not come along, and whose size is known or not.
    pub(crate) fn left_out(&self, picked: &Picked, size: Size) -> Vec<MessageId> {
        let is_left_out = |n: usize| self.is_left_out(n) && self.bytes(n).is_some() == (size == Size::Known);
        picked.taken.iter().filter(|n| is_left_out(**n)).map(|n| self.rows[*n].id).collect()
    }

    /// The picked as far as they fit: as many as are `wanted` into the rest of the budget, further ones into `ahead`.
    pub(crate) fn within(
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
        let Picked { mut taken, mut places, mut expired } = picked;
        taken.truncate(fitting);
        places.truncate(fitting);
        expired.retain(|n| taken.contains(n));
        Picked { taken, places, expired }
    }

    /// The message at a position, with `expired` attempts that its row does not count yet; the caller knows its place and its wait.
    pub(crate) fn claimed(&self, n: usize, receipt: Receipt, expired: u32) -> Result<Claimed, StoreError> {
        let (PayloadRow { row, at, .. }, (body, body_at)) = (&self.rows[n], self.body(n));
        let Body { ordering_key, headers, payload } = Body::read(body, body_at)?;
        let (id, queue, shard) = (receipt.message, receipt.queue.clone(), receipt.shard);
        let attempt = at.attempts(row)?.saturating_add(1 + expired);
        let last_error = at.last_error(row)?.map(Reason::new);
        let message = Message { id, queue, shard, ordering_key, headers, payload };
        Ok(Claimed {
            message,
            receipt,
            attempt,
            last_error,
            place: Default::default(),
            waited: Duration::ZERO,
        })
    }

    /// The bytes of a payload, if they are known.
    fn bytes(&self, n: usize) -> Option<usize> {
        let PayloadRow { id, bytes, .. } = &self.rows[n];
        self.bodies.get(id).map_or(*bytes, |body| body.bytes)
    }

    fn is_left_out(&self, n: usize) -> bool {
        let PayloadRow { id, is_left_out, .. } = &self.rows[n];
        self.bodies.get(id).map_or(*is_left_out, |body| body.at.is_left_out(&body.row))
    }

    /// The row that has the body of the message at a position, and where its columns stand.
    fn body(&self, n: usize) -> (&Row, &BodyColumns) {
        let PayloadRow { id, row, at, .. } = &self.rows[n];
        match self.bodies.get(id) {
            Some(body) => (&body.row, &body.at),
            None => (row, &at.body),
        }
    }
}
