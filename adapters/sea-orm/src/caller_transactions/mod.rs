pub(crate) mod commit;
pub(crate) mod identity;
pub(crate) mod savepoint;
