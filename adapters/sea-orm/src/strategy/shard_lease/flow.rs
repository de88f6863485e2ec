use std::time::Duration;

/// Whether an instance keeps up with the messages that flow through a shard, as its newest claims there show.
///
/// It then keeps the shard for a moment although nothing is in flight: other instances that looked in would each find a few
/// messages and pay for a lease of their own. Where messages pile up, or are slow to be handled, the shard is free for others.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Flow {
    /// How many claims in a row took some messages and left none.
    claims: u8,
    /// When the newest of them was, on the monotonic clock.
    newest: Option<Duration>,
}

impl Flow {
    /// For how long a shard is kept with nothing in flight.
    pub(crate) const KEPT: Duration = Duration::from_millis(200);
    /// So many claims in a row are a flow.
    const CLAIMS: u8 = 3;
    /// So many messages at least a claim must take: single ones go to the instance that sees them first.
    const MESSAGES: usize = 2;
    /// The longest time between two claims.
    const GAP: Duration = Duration::from_secs(1);
    /// The longest time from a claim to its last settlement; an instance that takes longer needs help.
    const PROMPT: Duration = Duration::from_millis(100);

    /// Notes a claim that took so many messages, and whether these were all that was due.
    pub(crate) fn claimed(&mut self, messages: usize, all: bool, now: Duration) {
        let follows = self.newest.is_some_and(|newest| now.saturating_sub(newest) <= Self::GAP);
        self.claims = match all && messages >= Self::MESSAGES {
            true if follows => self.claims.saturating_add(1),
            true => 1,
            false => 0,
        };
        self.newest = Some(now);
    }

    /// Whether the shard is worth keeping, now that the last of its messages is settled.
    pub(crate) fn is_kept_up_with(&self, now: Duration) -> bool {
        let is_prompt = self.newest.is_some_and(|newest| now.saturating_sub(newest) <= Self::PROMPT);
        self.claims >= Self::CLAIMS && is_prompt
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn after(claims: &[(usize, bool, u32)]) -> (Flow, Duration) {
        let (mut flow, mut now) = (Flow::default(), Duration::from_secs(9));
        for (messages, all, wait) in claims {
            now += MILLISECOND * *wait;
            flow.claimed(*messages, *all, now);
        }
        (flow, now)
    }

    #[test]
    fn three_claims_in_a_row_that_left_nothing_are_a_flow() {
        let (flow, now) = after(&[(2, true, 0), (7, true, 1000), (2, true, 20)]);
        assert!(flow.is_kept_up_with(now + Flow::PROMPT));
        assert!(!flow.is_kept_up_with(now + Flow::PROMPT + MILLISECOND), "its messages are handled slowly");
        for broken in [(1, true, 20), (9, false, 20), (9, true, 1001)] {
            let (flow, now) = after(&[(2, true, 0), (2, true, 20), broken]);
            assert!(!flow.is_kept_up_with(now), "{broken:?}");
        }
    }

    proptest! {
        #[test]
        fn fewer_than_three_claims_are_never_a_flow(claims in prop::collection::vec((0_usize..9, any::<bool>(), 0_u32..2000), 0..3)) {
            let (flow, now) = after(&claims);
            prop_assert!(!flow.is_kept_up_with(now));
        }

        #[test]
        fn a_claim_that_left_something_ends_the_flow(
            claims in prop::collection::vec((0_usize..9, any::<bool>(), 0_u32..2000), 0..9), messages in 0_usize..500,
        ) {
            let (mut flow, now) = after(&claims);
            flow.claimed(messages, false, now);
            prop_assert!(!flow.is_kept_up_with(now));
        }
    }
}
