use std::time::{Duration, Instant};

/// When the primary provider is down: for a while, once it has delivered enough to be noticed.
#[derive(Debug)]
pub(crate) struct Outage {
    delivered: usize,
    began: Option<Instant>,
    refused: usize,
    /// How long after its beginning the first message came through all the same, by the other provider.
    first_elsewhere: Option<Duration>,
    is_over: bool,
    delivered_after: usize,
}

impl Outage {
    /// It begins with this delivery.
    const BEGINS: usize = 60;
    /// How long it lasts.
    const LASTS: Duration = Duration::from_secs(2);

    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            delivered: 0,
            began: None,
            refused: 0,
            first_elsewhere: None,
            is_over: false,
            delivered_after: 0,
        }
    }

    /// Whether the primary answers a call now.
    pub(crate) fn lets_through(&mut self, now: Instant) -> bool {
        if self.began.is_none() && self.delivered >= Self::BEGINS {
            self.began = Some(now);
        }
        let is_down = self.began.is_some_and(|began| now.duration_since(began) < Self::LASTS);
        self.refused += usize::from(is_down);
        self.is_over = self.began.is_some() && !is_down;
        !is_down
    }

    /// The primary has delivered one.
    pub(crate) fn delivered(&mut self) {
        self.delivered += 1;
        self.delivered_after += usize::from(self.is_over);
    }

    /// The other provider has delivered one.
    pub(crate) fn delivered_elsewhere(&mut self, now: Instant) {
        if let Some(began) = self.began {
            self.first_elsewhere.get_or_insert(now.duration_since(began));
        }
    }

    /// The story in one line.
    pub(crate) fn story(&self) -> String {
        match (self.began, self.first_elsewhere) {
            (None, _) => "none: too few messages".into(),
            (Some(_), None) => format!("{:?}, and nobody delivered meanwhile", Self::LASTS),
            (Some(_), Some(first)) => format!(
                "{:?}; {} calls in vain, the other provider after {:.0} ms, {} by the primary after it came back",
                Self::LASTS,
                self.refused,
                first.as_secs_f64() * 1e3,
                self.delivered_after
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_when_enough_was_delivered_and_ends_by_itself() {
        let (mut outage, now) = (Outage::new(), Instant::now());
        for _ in 0..Outage::BEGINS {
            assert!(outage.lets_through(now));
            outage.delivered();
        }
        assert!(!outage.lets_through(now));
        outage.delivered_elsewhere(now + Duration::from_millis(7));
        assert!(!outage.lets_through(now + Outage::LASTS - Duration::from_millis(1)));
        assert!(outage.lets_through(now + Outage::LASTS));
        outage.delivered();
        assert_eq!(
            outage.story(),
            "2s; 2 calls in vain, the other provider after 7 ms, 1 by the primary after it came back"
        );
    }
}
