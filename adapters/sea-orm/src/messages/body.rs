use claimstream_domain::{ByteBudget, ClaimRequest, Headers, MessageId, OrderingKey, Payload};
use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

use crate::{
    database::{
        Database,
        args::bytes,
        typed_row::columns,
        unit::{Row, rows},
    },
    messages::by_id::ById,
};

/// What a message carries.
pub(crate) struct Body {
    pub(crate) ordering_key: Option<OrderingKey>,
    pub(crate) headers: Headers,
    pub(crate) payload: Payload,
}

impl Body {
    /// One that is gone, or is not what it was when it was stored, is `Corrupt`.
    pub(crate) fn read(row: &Row, at: &BodyColumns) -> Result<Self, StoreError> {
        let Some(content_type) = row.maybe_lent_text(at.content_type)? else {
            return Err(row.corrupt("its body is gone"));
        };
        let headers = row.maybe_lent(at.headers)?.map(serde_json::from_slice).transpose();
        Ok(Self {
            ordering_key: at.ordering_key(row)?,
            headers: headers.map_err(|e| row.corrupt(e))?.unwrap_or_default(),
            payload: Payload::new(content_type, row.bytes(at.payload)?).map_err(|e| row.corrupt(e))?,
        })
    }

    /// The same for people: what cannot be read is left out, and the bytes of the payload are there in any case.
    pub(crate) fn salvage(row: &Row, at: &BodyColumns) -> Result<Self, StoreError> {
        let read = Self::read(row, at);
        let untyped = |bytes| Payload::new("application/octet-stream", bytes).map_err(|e| row.corrupt(e));
        match read {
            Ok(read) => Ok(read),
            Err(_) => Ok(Self {
                ordering_key: None,
                headers: Headers::new(),
                payload: untyped(row.maybe_bytes(at.payload)?.unwrap_or_default())?,
            }),
        }
    }
}

columns! {
    /// Where the columns of a body stand.
    pub(crate) struct BodyColumns of "claim/read", "claim/body", "dead_letters/list", "shard_lease/read", "shard_lease/read_on" {
        ordering_key,
        headers,
        content_type,
        payload,
    }
}

impl BodyColumns {
    pub(crate) fn ordering_key(&self, row: &Row) -> Result<Option<OrderingKey>, StoreError> {
        row.maybe_lent_text(self.ordering_key)?.map(OrderingKey::new).transpose().map_err(|e| row.corrupt(e))
    }

    /// Whether a row has a body but not its payload, which was left out.
    pub(crate) fn is_left_out(&self, row: &Row) -> bool {
        let is_there = |column: usize| matches!(row.maybe_lent(column), Ok(Some(_)));
        // A body that is gone has no content type.
        !is_there(self.payload) && is_there(self.content_type)
    }
}

/// A body that was read by itself, and how many bytes its payload has.
pub(crate) struct BodyRow {
    pub(crate) row: Row,
    pub(crate) at: BodyColumns,
    pub(crate) bytes: Option<usize>,
}

/// Up to how many bytes a payload comes along with its row, where up to so many rows are read: all of them together do not
/// weigh more than the budget, or than what they may weigh in any case.
pub(crate) fn inline(budget: ByteBudget, rows: usize) -> i64 {
    const LIGHT: usize = 4096;
    i64::try_from((budget.bytes() / rows.max(1)).max(LIGHT)).unwrap_or(i64::MAX)
}

/// Reads bodies that were left out; with a budget, the heavy ones among them are still without their payloads.
pub(crate) async fn bodies(
    db: &Database,
    on: &impl ConnectionTrait,
    operation: &'static str,
    ids: &[MessageId],
    budget: Option<ByteBudget>,
) -> Result<ById<BodyRow>, StoreError> {
    let inline = budget.map_or(i64::MAX, |budget| inline(budget, ids.len()));
    let mut bodies = ById::with_capacity_and_hasher(ids.len(), Default::default());
    for ids in ids.chunks(ClaimRequest::MOST as usize) {
        let args = db.args().with("inline", inline);
        let args = args.with_list("ids", ids.iter().map(|id| bytes(id.uuid())));
        for row in rows(on, operation, db.sql.claim.body.bind(&args)).await? {
            let (at, id) = (BodyColumns::of(&row)?, row.uuid("id")?);
            let bytes = row.maybe_int("bytes")?.and_then(|bytes| usize::try_from(bytes).ok());
            bodies.insert(MessageId::new(id), BodyRow { row, at, bytes });
        }
    }
    Ok(bodies)
}
