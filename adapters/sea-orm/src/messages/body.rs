use std::collections::HashMap;

use claimstream_domain::{ByteBudget, ClaimRequest, Headers, MessageId, OrderingKey, Payload};
use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

use crate::{
    database::{
        args::bytes,
        unit::{Row, rows},
    },
    store::Store,
};

/// What a message carries, as four columns hold it: ordering_key, headers, content_type, payload.
pub(crate) struct Body {
    pub(crate) ordering_key: Option<OrderingKey>,
    pub(crate) headers: Headers,
    pub(crate) payload: Payload,
}

impl Body {
    /// Reads the columns from `first` on; one that is gone, or is not what it was when it was stored, is `Corrupt`.
    pub(crate) fn read(row: &Row, first: usize) -> Result<Self, StoreError> {
        let Some(content_type) = row.maybe_lent_text(first + 2)? else {
            return Err(row.corrupt("its body is gone"));
        };
        let ordering_key = row.maybe_lent_text(first)?.map(OrderingKey::new).transpose();
        let headers = row.maybe_lent(first + 1)?.map(serde_json::from_slice).transpose();
        Ok(Self {
            ordering_key: ordering_key.map_err(|e| row.corrupt(e))?,
            headers: headers.map_err(|e| row.corrupt(e))?.unwrap_or_default(),
            payload: Payload::new(content_type, row.bytes(first + 3)?).map_err(|e| row.corrupt(e))?,
        })
    }

    /// The same for people: what cannot be read is left out, and the bytes of the payload are there in any case.
    pub(crate) fn salvage(row: &Row, first: usize) -> Result<Self, StoreError> {
        let read = Self::read(row, first);
        let untyped = |bytes| Payload::new("application/octet-stream", bytes).map_err(|e| row.corrupt(e));
        match read {
            Ok(read) => Ok(read),
            Err(_) => Ok(Self {
                ordering_key: None,
                headers: Headers::new(),
                payload: untyped(row.maybe_bytes(first + 3)?.unwrap_or_default())?,
            }),
        }
    }
}

/// Up to how many bytes a payload comes along with its row, where up to so many rows are read: all of them together do not
/// weigh more than the budget, or than what they may weigh in any case.
pub(crate) fn inline(budget: ByteBudget, rows: usize) -> i64 {
    const LIGHT: usize = 4096;
    i64::try_from((budget.bytes() / rows.max(1)).max(LIGHT)).unwrap_or(i64::MAX)
}

impl Store {
    /// Reads bodies that were left out; with a budget, the heavy ones among them are still without their payloads.
    ///
    /// Columns: id, the four of a [`Body`], and the bytes of the payload.
    pub(crate) async fn bodies(
        &self,
        on: &impl ConnectionTrait,
        operation: &'static str,
        ids: &[MessageId],
        budget: Option<ByteBudget>,
    ) -> Result<HashMap<MessageId, Row>, StoreError> {
        let inline = budget.map_or(i64::MAX, |budget| inline(budget, ids.len()));
        let mut bodies = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(ClaimRequest::MOST as usize) {
            let args = self.args().with("inline", inline);
            let args = args.with_list("ids", ids.iter().map(|id| bytes(id.uuid())));
            for row in rows(on, operation, self.sql.claim.body.bind(&args)).await? {
                bodies.insert(MessageId::new(row.uuid(0)?), row);
            }
        }
        Ok(bodies)
    }
}
