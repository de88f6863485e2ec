use claimstream_domain::{MessageId, waited};
use claimstream_ports::StoreError;

use crate::{
    database::{typed_row::columns, unit::Row},
    messages::body::BodyColumns,
    strategy::shard_lease::claim::candidate::Candidate,
};

columns! {
    struct MessageColumns of "shard_lease/read", "shard_lease/read_on" {
        id,
        due_at,
        attempts,
        last_error,
        suspect,
        parked_until,
        bytes,
    }
}

/// Where the columns of a page stand.
#[derive(Clone, Copy)]
pub(crate) struct DueColumns {
    message: MessageColumns,
    pub(crate) body: BodyColumns,
}

impl DueColumns {
    pub(crate) fn of(row: &Row) -> Result<Self, StoreError> {
        Ok(Self { message: MessageColumns::of(row)?, body: BodyColumns::of(row)? })
    }

    /// The candidate that a row is at this moment of the server's clock.
    pub(crate) fn candidate(&self, row: &Row, now: i64) -> Result<Candidate, StoreError> {
        let (due, parked_until) = (row.int(self.message.due_at)?, row.maybe_int(self.message.parked_until)?);
        Ok(Candidate {
            id: MessageId::new(row.uuid(self.message.id)?),
            due,
            // A key that cannot be read blocks nothing: its message is buried when it is handed out.
            key: self.body.ordering_key(row).ok().flatten(),
            attempts: row.number(self.message.attempts)?,
            suspect: row.truth(self.message.suspect)?,
            parked: parked_until.is_some_and(|until| until > now),
            waited: waited(due, parked_until, now),
        })
    }

    pub(crate) fn attempts(&self, row: &Row) -> Result<u32, StoreError> {
        row.number(self.message.attempts)
    }

    pub(crate) fn last_error(&self, row: &Row) -> Result<Option<String>, StoreError> {
        row.maybe_text(self.message.last_error)
    }

    /// The bytes of the payload, if the row says it.
    pub(crate) fn bytes(&self, row: &Row) -> Option<usize> {
        row.maybe_int(self.message.bytes).ok().flatten().and_then(|bytes| usize::try_from(bytes).ok())
    }
}
