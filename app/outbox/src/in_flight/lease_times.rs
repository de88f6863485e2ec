use std::time::Duration;

use claimstream_domain::Lease;

/// When a lease is to be renewed and when it must no longer be relied on, on the timer's clock.
#[derive(Clone, Copy)]
pub(crate) struct LeaseTimes {
    pub(crate) renew_at: Duration,
    /// When it is to be given back if no handler has begun with it: two thirds of the lease.
    pub(crate) give_back_at: Duration,
    pub(crate) deadline: Duration,
}

impl LeaseTimes {
    /// The part of a lease that is left unused, a twentieth, for clocks that do not run equally fast.
    const MARGIN: u32 = 20;

    /// The times of a lease that was asked for at `sent`: the store granted it later, so it lasts longer than we believe.
    pub(crate) fn of(lease: Lease, sent: Duration) -> Self {
        let margin = lease.duration() / Self::MARGIN;
        let renew_at = sent + lease.renew_after();
        Self {
            renew_at,
            give_back_at: renew_at + lease.renew_after(),
            deadline: sent + lease.duration() - margin,
        }
    }
}
