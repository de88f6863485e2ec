use std::time::Duration;

use claimstream_domain::notification::NotificationRequest;

use crate::due::due;

/// Runs out when nothing has been submitted or delivered for long, though everything is due.
pub(crate) struct StallLimit {
    submitted: u64,
    deliveries: usize,
    /// When the last progress was seen, in microseconds since 1970.
    last: u64,
    /// When the last request is due.
    latest: u64,
}

impl StallLimit {
    /// A run that has not ended after this long without any progress will not.
    pub(crate) const LIMIT: Duration = Duration::from_secs(60);

    pub(crate) fn new(requests: &[NotificationRequest], now: u64) -> Self {
        Self { submitted: 0, deliveries: 0, last: now, latest: latest(requests, now) }
    }

    /// Takes note of how far the run has come.
    pub(crate) fn see(
        &mut self,
        requests: &[NotificationRequest],
        submitted: u64,
        deliveries: usize,
        now: u64,
    ) {
        if submitted > self.submitted {
            // A delay begins with the commit.
            self.latest = latest(requests, now);
        }
        if submitted > self.submitted || deliveries > self.deliveries {
            self.last = now;
        }
        (self.submitted, self.deliveries) = (submitted, deliveries);
    }

    pub(crate) fn has_run_out(&self, now: u64) -> bool {
        now.saturating_sub(self.last.max(self.latest)) > Self::LIMIT.as_micros() as u64
    }
}

fn latest(requests: &[NotificationRequest], submitted: u64) -> u64 {
    requests.iter().map(|request| due(request, submitted)).max().unwrap_or(submitted)
}

#[cfg(test)]
mod tests {
    use claimstream_domain::Timestamp;

    use super::*;
    use crate::load::generated;

    const SECOND: u64 = 1_000_000;

    fn runs_out(stall: &StallLimit, at: u64) {
        assert!(!stall.has_run_out(at * SECOND) && stall.has_run_out(at * SECOND + 1));
    }

    #[test]
    fn it_begins_again_with_every_progress() {
        let requests = [generated(1)];
        let mut stall = StallLimit::new(&requests, 0);
        runs_out(&stall, 60);
        stall.see(&requests, 1, 0, 10 * SECOND);
        stall.see(&requests, 1, 0, 15 * SECOND);
        runs_out(&stall, 70);
        stall.see(&requests, 1, 1, 20 * SECOND);
        runs_out(&stall, 80);
    }

    #[test]
    fn it_begins_when_the_last_request_is_due() {
        let scheduled_at = Some(Timestamp::from_micros(300 * SECOND as i64).unwrap());
        let scheduled = [generated(1), NotificationRequest { scheduled_at, ..generated(2) }];
        runs_out(&StallLimit::new(&scheduled, 0), 360);
        let delayed = [NotificationRequest { delay_ms: Some(100_000), ..generated(1) }, generated(2)];
        let mut stall = StallLimit::new(&delayed, 0);
        stall.see(&delayed, 1, 0, 20 * SECOND);
        stall.see(&delayed, 1, 1, 30 * SECOND);
        runs_out(&stall, 180);
    }
}
