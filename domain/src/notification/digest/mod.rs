//! Digests: messages of one recipient, channel and category that become one.

mod item;
mod rules;
mod taking;

pub use item::{DigestItem, NewDigestItem};
pub use rules::{DigestRule, DigestRules};
pub use taking::{DigestTaking, KeptItem};
