//! What lies in queues, for people and their monitoring.

pub(crate) mod audit;
pub(crate) mod find;
pub(crate) mod instances;
pub(crate) mod kept;
pub(crate) mod lateness;
pub(crate) mod newest_count;
pub(crate) mod observe;
pub(crate) mod pauses;
