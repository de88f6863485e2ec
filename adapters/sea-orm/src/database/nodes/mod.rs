//! The servers of a URL that names several: which one takes writes is read from them, and followed when it changes.

pub(crate) mod addresses;
mod ask;
pub(crate) mod choice;
mod evidence;
pub(crate) mod known;
mod node;
mod pauses;
mod search;
pub(crate) mod survey;
pub(crate) mod watch;
