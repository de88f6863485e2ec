//! Receipts of providers: how they prove whose they are, and what they say.

mod check;
mod kinds;
mod mapping;
mod providers;
mod receiving;
mod waiting;

pub use check::{ReceiptCheck, SharedSecret};
pub use kinds::ReceiptKinds;
pub use mapping::ReceiptMapping;
pub use providers::ReceiptProviders;

pub(crate) use mapping::Mapped;
pub(crate) use receiving::Receiving;
