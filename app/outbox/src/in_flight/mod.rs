//! The claims that this process holds, and what each waits for.

mod lease_times;
mod open_claims;
mod renewal;
mod ticket;

pub(crate) use lease_times::LeaseTimes;
pub(crate) use open_claims::{ClaimStatus, OpenClaims, Turn, Wanted};
pub(crate) use renewal::Renewal;
pub(crate) use ticket::Ticket;
