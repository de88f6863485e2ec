//! One page a file.

pub(crate) mod overview;
pub(crate) mod sign_in;
pub(crate) mod style;
