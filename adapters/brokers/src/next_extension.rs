use std::{sync::Arc, time::Duration};

use claimstream_domain::HoldLimit;
use claimstream_ports::{Deadline, Timer};

/// When the hold on messages that were read ahead is extended: a third of the broker's limit after the last time, however many
/// deliveries were handed over meanwhile.
pub(crate) struct NextExtension {
    every: Duration,
    at: Deadline,
    timer: Arc<dyn Timer>,
}

impl NextExtension {
    /// Of messages that the broker lets be held for `limit`, from now on.
    pub(crate) fn within(limit: Duration, timer: &Arc<dyn Timer>) -> Self {
        let every = HoldLimit::Extendable(limit).extend_every().unwrap_or(limit);
        Self { every, at: Deadline::after(every, timer), timer: Arc::clone(timer) }
    }

    /// The time of all of them begins now.
    pub(crate) fn begin(&mut self) {
        self.at = Deadline::after(self.every, &self.timer);
    }

    pub(crate) fn is_due(&self) -> bool {
        self.at.has_passed()
    }
}

#[cfg(test)]
mod tests {
    use claimstream_ports::mock::HandTimer;

    use super::*;

    #[test]
    fn it_is_due_a_third_of_the_limit_after_the_time_began() {
        let hand = HandTimer::default();
        let timer: Arc<dyn Timer> = Arc::new(hand.clone());
        let mut next = NextExtension::within(Duration::from_secs(30), &timer);
        for _ in 0..2 {
            hand.advance(Duration::from_secs(9));
            assert!(!next.is_due());
            hand.advance(Duration::from_secs(1));
            assert!(next.is_due());
            next.begin();
        }
    }
}
