//! Enqueues in the transaction of the caller.

mod compose;
mod hint;
mod transaction;

pub use compose::Compose;
pub use hint::{EnqueueHinted, Hint};
pub(crate) use hint::{awaited, wake_all};
pub use transaction::{TransactionError, Work, in_proven_transaction, in_transaction, work};
