//! Claims that are rows of the queue come to their ends.

pub(crate) mod alike;
pub(crate) mod answers;
pub(crate) mod at_once;
pub(crate) mod children;
pub(crate) mod group;
pub(crate) mod open_claims;
pub(crate) mod renew;
pub(crate) mod rows;
pub(crate) mod take_back;
pub(crate) mod unknown;
