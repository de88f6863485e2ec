//! Messages that relays do not claim any more.

pub(crate) mod letters;
pub(crate) mod listing;
