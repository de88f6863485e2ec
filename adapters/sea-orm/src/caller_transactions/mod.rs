pub(crate) mod backend;
pub(crate) mod commit;
pub(crate) mod savepoint;
