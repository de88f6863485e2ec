//! A place for measurements alone: a database next to the user's, or a file next to the user's file.

mod boxed;
mod file;
mod name;
pub(crate) mod place;
mod refused;
mod server;
