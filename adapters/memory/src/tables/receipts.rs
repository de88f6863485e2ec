use claimstream_domain::{
    Timestamp,
    notification::{DeliveryReceipt, ReceiptKind},
};
use uuid::Uuid;

/// What a provider said of a message, and when it came first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FactRow {
    pub(crate) message: Uuid,
    pub(crate) kind: ReceiptKind,
    pub(crate) seen_at: Timestamp,
    pub(crate) said_at: Option<String>,
}

/// A receipt that waits for its delivery to be noted, and when it came first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WaitingRow {
    pub(crate) receipt: DeliveryReceipt,
    pub(crate) seen_at: Timestamp,
}
