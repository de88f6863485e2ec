//! Holds messages of an ordering key back until those before them are settled.

mod fetch_mode;
mod held_back;
mod key_groups;

pub(crate) use fetch_mode::FetchMode;
pub(crate) use key_groups::{Admitted, KeyGroups};
