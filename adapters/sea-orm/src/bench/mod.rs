//! A place for measurements that is nobody's: a database beside the user's, or a file beside the user's file.

mod boxed;
mod file;
mod name;
pub(crate) mod place;
mod refused;
mod server;
