pub(crate) mod checks;
pub(crate) mod queues;
pub(crate) mod rights;
