use super::{ReceiptProviders, waiting::EarlyReceipts};

/// What the routes of receipts share.
#[derive(Debug, Default)]
pub(crate) struct Receiving {
    pub(crate) providers: ReceiptProviders,
    pub(crate) waiting: EarlyReceipts,
}
