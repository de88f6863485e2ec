pub(crate) mod lateness;
pub(crate) mod observe;
