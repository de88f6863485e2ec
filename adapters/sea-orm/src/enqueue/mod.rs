//! Messages come into the outbox.

pub(crate) mod rows;
pub(crate) mod statements;
