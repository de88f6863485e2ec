pub(crate) mod rows;
pub(crate) mod statements;
