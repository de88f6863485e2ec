//! What finished messages leave behind, and how it is taken away.

mod attempts;
mod audit;
pub(crate) mod chunk;
mod dedup_keys;
mod erasures;
mod in_app;
pub(crate) mod lag;
pub(crate) mod leftovers;
mod parts;
pub(crate) mod requests;
pub(crate) mod round;
pub(crate) mod steps;
pub(crate) mod strain;
pub(crate) mod sweeper;
pub(crate) mod swept;
pub(crate) mod window;
