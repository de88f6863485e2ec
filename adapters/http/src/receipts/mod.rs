//! Receipts of providers: how they prove whose they are, and what they say.

mod check;
mod kinds;
mod mapping;
mod providers;
#[cfg(feature = "server")]
mod receiving;
#[cfg(feature = "server")]
mod subscription;
#[cfg(feature = "server")]
mod waiting;

pub use check::{ReceiptCheck, SharedSecret};
pub use kinds::ReceiptKinds;
pub use mapping::ReceiptMapping;
pub use providers::ReceiptProviders;

#[cfg(feature = "server")]
pub(crate) use mapping::Mapped;
#[cfg(feature = "server")]
pub(crate) use receiving::Receiving;
#[cfg(feature = "server")]
pub(crate) use subscription::Subscription;
