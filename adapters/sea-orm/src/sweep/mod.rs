//! What finished messages leave behind, and how it is taken away.

pub(crate) mod alive;
mod audit;
pub(crate) mod chunk;
mod dedup_keys;
pub(crate) mod lag;
pub(crate) mod leftovers;
pub(crate) mod part;
mod parts;
pub(crate) mod round;
pub(crate) mod strain;
pub(crate) mod sweeper;
pub(crate) mod swept;
mod whole;
pub(crate) mod window;
