use std::time::Duration;

/// For how long one batch has been tried without a full answer, and what is to be done about it.
pub(crate) struct Patience {
    /// When the batch was first sent.
    since: Duration,
    pause: Duration,
    /// How much the broker had confirmed when a message of the batch was not, for the first time.
    failed_at: Option<u64>,
}

/// What becomes of messages that were not confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// They are sent again after this pause.
    Again(Duration),
    /// They fail: the broker has confirmed others in the meantime, and not them.
    Fail,
    /// They go back and lose no attempt: the broker confirms nothing.
    GoBack,
}

impl Patience {
    /// How long a batch is held while the broker confirms nothing.
    pub(crate) const MOST: Duration = Duration::from_secs(10);
    /// The first pause, and the longest.
    const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

    pub(crate) fn since(now: Duration) -> Self {
        Self { since: now, pause: Self::PAUSES[0], failed_at: None }
    }

    /// Decides about messages that were sent when the broker had confirmed `before`, and were not confirmed by the time it had
    /// confirmed `after`.
    ///
    /// They fail only if something else was confirmed after their first failure and before they were sent once more: then it is
    /// not the broker that is away.
    pub(crate) fn after(&mut self, now: Duration, (before, after): (u64, u64)) -> Next {
        match self.failed_at {
            Some(failed_at) if before > failed_at => return Next::Fail,
            Some(_) => {}
            None => self.failed_at = Some(after),
        }
        if now.saturating_sub(self.since) >= Self::MOST {
            return Next::GoBack;
        }
        let [_, longest] = Self::PAUSES;
        let pause = self.pause;
        self.pause = (pause * 2).min(longest);
        Next::Again(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(100);

    #[test]
    fn while_nothing_is_confirmed_a_batch_is_tried_again_and_then_goes_back() {
        let mut patience = Patience::since(START);
        let mut now = START;
        let mut pauses = Vec::new();
        while let Next::Again(pause) = patience.after(now, (7, 7)) {
            pauses.push(pause.as_millis());
            now += pause;
        }
        assert_eq!(pauses[..6], [50, 100, 200, 400, 800, 1000]);
        assert_eq!(patience.after(now, (7, 7)), Next::GoBack);
        assert!(now - START >= Patience::MOST && now - START < Patience::MOST + Duration::from_secs(1));
    }

    #[test]
    fn a_message_fails_only_if_it_was_sent_after_others_were_confirmed() {
        let mut patience = Patience::since(START);
        // A part of the batch was confirmed and the rest was cut off.
        assert!(matches!(patience.after(START, (0, 50)), Next::Again(_)));
        // Others are confirmed while it is tried again: it may have been too early.
        assert!(matches!(patience.after(START, (50, 90)), Next::Again(_)));
        assert_eq!(patience.after(START, (90, 90)), Next::Fail);
    }
}
