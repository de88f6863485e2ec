use std::{collections::BTreeMap, time::Duration};

use super::breaker_policy::BreakerPolicy;

/// The messages that a provider was given and has not answered, and so whether it hangs.
///
/// It hangs while as many messages as open a circuit wait for longer than [`silence`](BreakerPolicy::silence) and no answer came since the
/// first of these was given to it. A slow provider answers one message or another meanwhile, and does not hang.
///
/// Time is handed in as the time since some fixed moment; it never goes back.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    began: BTreeMap<u64, Duration>,
    given: u64,
    last_answer: Option<Duration>,
}

impl InFlight {
    /// A message is given to the provider; the number stands for it.
    pub fn begin(&mut self, now: Duration) -> u64 {
        self.given += 1;
        self.began.insert(self.given, now);
        self.given
    }

    /// A message is not waited for any more, because the provider has `answered` or for any other reason.
    pub fn end(&mut self, number: u64, answered: bool, now: Duration) {
        self.began.remove(&number);
        if answered {
            self.last_answer = Some(now);
        }
    }

    /// Whether it is better to ask another provider first.
    pub fn is_hanging(&self, policy: BreakerPolicy, now: Duration) -> bool {
        let since = self.last_answer.unwrap_or_default();
        let late = |began: &&Duration| **began >= since && now.saturating_sub(**began) >= policy.silence;
        let most = policy.failures as usize;
        self.began.values().filter(late).take(most).count() == most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy() -> BreakerPolicy {
        BreakerPolicy { failures: 3, silence: Duration::from_secs(2), ..BreakerPolicy::default() }
    }

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Guard: an answer proves that a provider is alive | `is_hanging`: `since` is zero
    #[test]
    fn silence_towards_enough_messages_is_hanging_and_one_answer_ends_it() {
        let mut calls = InFlight::default();
        let numbers = [0, 100, 200].map(|millis| calls.begin(at(millis)));
        assert!(!calls.is_hanging(policy(), at(2_199)) && calls.is_hanging(policy(), at(2_200)));
        calls.end(numbers[0], true, at(2_300));
        assert!(!calls.is_hanging(policy(), at(9_000)), "what was given before the answer counts no more");
        for millis in [2_400, 2_500, 2_600] {
            calls.begin(at(millis));
        }
        assert!(!calls.is_hanging(policy(), at(4_599)) && calls.is_hanging(policy(), at(4_600)));
    }

    #[test]
    fn a_message_that_is_waited_for_no_more_is_no_answer() {
        let mut calls = InFlight::default();
        let numbers: Vec<_> = (0..4).map(|_| calls.begin(at(0))).collect();
        calls.end(numbers[0], false, at(2_000));
        assert!(calls.is_hanging(policy(), at(2_000)));
        calls.end(numbers[1], false, at(2_000));
        assert!(!calls.is_hanging(policy(), at(2_000)));
    }

    proptest! {
        #[test]
        fn a_provider_that_answers_now_and_then_never_hangs(
            took in prop::collection::vec(0..1_900_u64, 1..100), waiting in 0..9_usize,
        ) {
            let (mut calls, mut now) = (InFlight::default(), Duration::ZERO);
            for took in took {
                let _: Vec<_> = (0..waiting).map(|_| calls.begin(now)).collect();
                let answered = calls.begin(now);
                now += Duration::from_millis(took);
                prop_assert!(!calls.is_hanging(policy(), now));
                calls.end(answered, true, now);
            }
        }
    }
}
