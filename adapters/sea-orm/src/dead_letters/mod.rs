//! Messages that nobody claims any more.

pub(crate) mod letters;
pub(crate) mod listing;
