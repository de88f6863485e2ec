//! What the programs `transfer` and `points_and_balance` share: accounts, worker processes that are killed, and the count
//! of the money afterwards.

pub(crate) mod account;
pub(crate) mod books;
mod databases;
mod fleet;
pub(crate) mod kill_line;
pub(crate) mod options;
mod report;
pub(crate) mod show;
mod worker;

pub(crate) use databases::Databases;
pub(crate) use show::{Business, play};

/// Anything that went wrong, as a sentence.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;
