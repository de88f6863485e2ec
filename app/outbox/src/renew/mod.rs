//! Renews the leases of claims in flight.

mod call;
mod scheduler;

pub(crate) use call::renew;
pub(crate) use scheduler::Renewer;
