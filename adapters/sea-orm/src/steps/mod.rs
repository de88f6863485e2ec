pub(crate) mod ledger;
pub(crate) mod sagas;
