use claimstream_domain::{Headers, OrderingKey, Payload};
use claimstream_ports::StoreError;

use crate::unit::Row;

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
