//! Requests for notifications and the records of their messages.

pub(crate) mod fan_outs;
pub(crate) mod records;
pub(crate) mod requests;
