pub(crate) mod answers;
pub(crate) mod at_once;
pub(crate) mod group;
pub(crate) mod open_claims;
pub(crate) mod renew;
pub(crate) mod rows;
pub(crate) mod take_back;
