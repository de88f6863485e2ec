mod open_claim;
mod register;
mod renewing;
mod settling;

pub(crate) use register::{ClaimStatus, OpenClaims};
pub(crate) use renewing::Wanted;
pub(crate) use settling::Turn;
