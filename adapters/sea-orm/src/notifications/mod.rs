//! Requests for notifications and the records of their messages.

pub(crate) mod attempts;
pub(crate) mod cancelling;
pub(crate) mod digests;
pub(crate) mod erasing;
pub(crate) mod erasures;
pub(crate) mod failover_remains;
pub(crate) mod fan_outs;
pub(crate) mod forgetting;
pub(crate) mod in_app;
pub(crate) mod listing;
pub(crate) mod people;
pub(crate) mod preferences;
pub(crate) mod rates;
pub(crate) mod receipts;
pub(crate) mod records;
pub(crate) mod remains;
pub(crate) mod repositories;
pub(crate) mod requests;
pub(crate) mod restoring;
mod statuses;
pub(crate) mod suppressions;
pub(crate) mod sweep;
pub(crate) mod templates;
