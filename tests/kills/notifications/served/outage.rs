use std::time::{Duration, Instant};

/// When the primary provider is down: for a while, once it has delivered enough to be noticed.
#[derive(Debug)]
pub(crate) struct Outage {
    lasts: Duration,
    delivered: usize,
    began: Option<Instant>,
    refused: usize,
    /// How long after its beginning the other provider delivered its first message.
    first_elsewhere: Option<Duration>,
    /// When a message was delivered last.
    latest: Option<Instant>,
    /// The longest time without a delivery since its beginning.
    longest_gap: Duration,
    /// How long after its end the primary delivered again.
    back_after: Option<Duration>,
}

impl Outage {
    /// It begins after this many deliveries.
    const BEGINS: usize = 60;

    /// One that is still to come.
    pub(crate) fn lasting(lasts: Duration) -> Self {
        Self {
            lasts,
            delivered: 0,
            began: None,
            refused: 0,
            first_elsewhere: None,
            latest: None,
            longest_gap: Duration::ZERO,
            back_after: None,
        }
    }

    /// Whether the primary answers a call now.
    pub(crate) fn lets_through(&mut self, now: Instant) -> bool {
        if self.began.is_none() && self.delivered >= Self::BEGINS {
            self.began = Some(now);
        }
        let is_down = self.began.is_some_and(|began| now.duration_since(began) < self.lasts);
        self.refused += usize::from(is_down);
        !is_down
    }

    /// The primary has delivered one.
    pub(crate) fn delivered(&mut self, now: Instant) {
        self.delivered += 1;
        self.note(now);
        if let Some(began) = self.began {
            self.back_after.get_or_insert(now.duration_since(began).saturating_sub(self.lasts));
        }
    }

    /// The other provider has delivered one.
    pub(crate) fn delivered_elsewhere(&mut self, now: Instant) {
        self.note(now);
        if let Some(began) = self.began {
            self.first_elsewhere.get_or_insert(now.duration_since(began));
        }
    }

    fn note(&mut self, now: Instant) {
        let during = self.began.filter(|began| now.duration_since(*began) < self.lasts);
        if let (Some(began), Some(latest)) = (during, self.latest) {
            self.longest_gap = self.longest_gap.max(now.duration_since(latest.max(began)));
        }
        self.latest = Some(now);
    }

    /// The story in one line.
    pub(crate) fn story(&self) -> String {
        let millis = |time: Option<Duration>| {
            time.map_or_else(|| "never".into(), |time| format!("after {:.0} ms", time.as_secs_f64() * 1e3))
        };
        match self.began {
            None => "none: too few messages".into(),
            Some(_) => format!(
                "{:?}, {} failed calls; the other provider {}, longest gap {:.0} ms; the primary was back {}",
                self.lasts,
                self.refused,
                millis(self.first_elsewhere),
                self.longest_gap.as_secs_f64() * 1e3,
                millis(self.back_after),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_when_enough_was_delivered_and_ends_by_itself() {
        let lasts = Duration::from_secs(2);
        let (mut outage, began) = (Outage::lasting(lasts), Instant::now());
        for _ in 0..Outage::BEGINS {
            assert!(outage.lets_through(began));
            outage.delivered(began);
        }
        assert!(!outage.lets_through(began));
        outage.delivered_elsewhere(began + Duration::from_millis(7));
        outage.delivered_elsewhere(began + Duration::from_millis(400));
        assert!(!outage.lets_through(began + lasts - Duration::from_millis(1)));
        assert!(outage.lets_through(began + lasts));
        outage.delivered(began + lasts + Duration::from_millis(30));
        assert_eq!(
            outage.story(),
            "2s, 2 failed calls; the other provider after 7 ms, longest gap 393 ms; the primary was back after 30 ms"
        );
    }
}
