//! One file for each library: how it is configured, fed and asked.

mod apalis;
mod fang;
mod gears;
mod ruststream;

pub(crate) use self::{apalis::Apalis, fang::Fang, gears::Gears, ruststream::Ruststream};
