//! What callers do in transactions of their own: prove that they are in one, take back what failed, and commit.

pub(crate) mod begun;
pub(crate) mod commit;
pub(crate) mod ended;
#[cfg(feature = "mysql")]
pub(crate) mod own;
pub(crate) mod savepoint;
