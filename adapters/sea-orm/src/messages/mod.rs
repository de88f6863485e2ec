//! Messages as their rows hold them.

pub(crate) mod body;
pub(crate) mod twins;
pub(crate) mod unreadable;
