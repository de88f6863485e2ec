//! Messages as their rows hold them.

pub(crate) mod body;
pub(crate) mod by_id;
pub(crate) mod twins;
pub(crate) mod unreadable;
