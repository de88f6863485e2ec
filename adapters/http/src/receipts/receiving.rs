use super::{ReceiptProviders, waiting::Waiting};

/// What the routes of receipts share.
#[derive(Debug, Default)]
pub(crate) struct Receiving {
    pub(crate) providers: ReceiptProviders,
    pub(crate) waiting: Waiting,
}
