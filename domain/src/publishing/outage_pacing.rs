use std::time::Duration;

/// Decides what becomes of messages of one place that a broker did not confirm, for as long as one batch is held.
///
/// A message fails an attempt only if its own place has confirmed others meanwhile: a place that is absent or full, and a broker that is
/// away, say nothing of the message.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutagePacing {
    /// What had been confirmed when a message of the place was sent and was not, for the first time.
    failed_at: Option<Confirmed>,
}

/// How many messages a broker has confirmed, as far as one process has counted them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Confirmed {
    /// At the place of the message.
    pub here: u64,
    /// At all places together.
    pub anywhere: u64,
}

/// A message that was not confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unconfirmed {
    /// What had been confirmed when the message was sent.
    pub before: Confirmed,
    /// What had been confirmed when its answer was there.
    pub after: Confirmed,
    /// Whether it was sent at all.
    pub was_sent: bool,
    /// Whether the broker said that the place takes nothing now, as when it is absent or full.
    pub is_unavailable: bool,
    /// How long its batch has been held.
    pub held: Duration,
    /// How long the place has confirmed nothing.
    pub away: Duration,
    /// How long the batch pauses before its messages are sent again.
    pub pause: Duration,
}

/// What becomes of a message that was not confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep {
    /// It is sent again after this pause.
    Again(Duration),
    /// It fails an attempt: its place has confirmed others in the meantime, and not it.
    Fail,
    /// It goes back, is due again after this time, and loses no attempt.
    GoBack(Duration),
}

impl OutagePacing {
    /// How long a batch is held while the broker confirms nothing.
    pub const HOLD: Duration = Duration::from_secs(10);
    /// How long a message that goes back waits at least.
    pub const SHORTEST: Duration = Duration::from_secs(2);
    /// How long a message that goes back waits at most.
    pub const LONGEST: Duration = Duration::from_secs(30);

    /// Decides about a message.
    ///
    /// Confirmations count only if they came after the first failure and before the message was sent once more: one that was cut off
    /// with its batch has not failed alone. A message is not held in place while other places confirm, nor for a place that has been
    /// unavailable for long, because its batch occupies a worker that could serve others. A message that was not sent fails no attempt.
    pub fn after(&mut self, sent: Unconfirmed) -> NextStep {
        let Unconfirmed { before, after, was_sent, is_unavailable, held, away, pause } = sent;
        let first = match was_sent {
            true => *self.failed_at.get_or_insert(after),
            false => self.failed_at.unwrap_or(after),
        };
        let is_alone = before.here > first.here && was_sent && !is_unavailable;
        let others_are_served =
            before.anywhere > first.anywhere || (is_unavailable && after.anywhere > before.anywhere);
        let is_held_long = held >= Self::HOLD || (is_unavailable && away >= Self::HOLD);
        match is_alone {
            true => NextStep::Fail,
            false if others_are_served || is_unavailable && is_held_long => {
                NextStep::GoBack(away.clamp(Self::SHORTEST, Self::LONGEST))
            }
            false if is_held_long => NextStep::GoBack(Self::SHORTEST),
            false => NextStep::Again(pause),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn confirmed(here: u64, anywhere: u64) -> Confirmed {
        Confirmed { here, anywhere }
    }

    fn unconfirmed(before: Confirmed, after: Confirmed) -> Unconfirmed {
        let pause = Duration::from_millis(50);
        Unconfirmed {
            before,
            after,
            was_sent: true,
            is_unavailable: false,
            held: pause,
            away: Duration::ZERO,
            pause,
        }
    }

    #[test]
    fn a_message_fails_only_if_it_was_sent_after_its_place_confirmed_others() {
        let mut pacing = OutagePacing::default();
        // A part of the batch was confirmed and the rest was cut off.
        let cut_off = unconfirmed(confirmed(0, 0), confirmed(50, 50));
        assert_eq!(pacing.after(cut_off), NextStep::Again(cut_off.pause));
        // Others are confirmed while it is sent again: it may have been too early.
        let early = unconfirmed(confirmed(50, 50), confirmed(90, 90));
        assert_eq!(pacing.after(early), NextStep::Again(early.pause));
        assert_eq!(pacing.after(unconfirmed(confirmed(90, 90), confirmed(90, 90))), NextStep::Fail);
    }

    /// Guard: confirmations at one place fail no message of another | `after`: `is_alone` by `anywhere`
    #[test]
    fn what_other_places_confirm_fails_no_message_and_frees_the_batch() {
        let mut pacing = OutagePacing::default();
        assert!(matches!(pacing.after(unconfirmed(confirmed(0, 0), confirmed(0, 9))), NextStep::Again(_)));
        let again = unconfirmed(confirmed(0, 12), confirmed(0, 12));
        assert_eq!(pacing.after(again), NextStep::GoBack(OutagePacing::SHORTEST));
    }

    /// Guard: back-pressure is not a failed attempt | `after`: `is_alone` also where `is_unavailable`
    #[test]
    fn a_full_place_that_drains_slowly_fails_no_message() {
        let mut pacing = OutagePacing::default();
        for confirmed_before in 0..100 {
            let before = confirmed(confirmed_before, confirmed_before);
            let full = Unconfirmed { is_unavailable: true, ..unconfirmed(before, before) };
            assert_ne!(pacing.after(full), NextStep::Fail);
        }
    }

    /// Guard: a message that was not sent has failed no attempt | `after`: `is_alone` also where it was not sent
    #[test]
    fn a_message_that_was_not_sent_fails_no_attempt() {
        let mut pacing = OutagePacing::default();
        let unsent = |before| Unconfirmed { was_sent: false, ..unconfirmed(before, before) };
        assert!(matches!(pacing.after(unsent(confirmed(1, 1))), NextStep::Again(_)));
        let first = unconfirmed(confirmed(2, 2), confirmed(2, 2));
        assert!(matches!(pacing.after(first), NextStep::Again(_)), "it is the first time that it was sent");
        assert_eq!(pacing.after(unsent(confirmed(3, 3))), NextStep::GoBack(OutagePacing::SHORTEST));
        assert_eq!(pacing.after(unconfirmed(confirmed(3, 3), confirmed(3, 3))), NextStep::Fail);
    }

    #[test]
    fn a_place_that_stays_unavailable_is_asked_at_growing_pauses_and_a_broker_that_is_away_at_short_ones() {
        let nothing = unconfirmed(confirmed(7, 7), confirmed(7, 7));
        let wait = |is_unavailable, held, away| {
            let [held, away] = [held, away].map(Duration::from_secs);
            match OutagePacing::default().after(Unconfirmed { is_unavailable, held, away, ..nothing }) {
                NextStep::GoBack(wait) => Some(wait.as_secs()),
                NextStep::Again(_) => None,
                NextStep::Fail => panic!("{held:?} {away:?}"),
            }
        };
        assert_eq!(
            [0, 9, 10, 20, 600].map(|away| wait(true, 0, away)),
            [None, None, Some(10), Some(20), Some(30)]
        );
        assert_eq!([0, 9, 10, 20].map(|held| wait(false, held, 600)), [None, None, Some(2), Some(2)]);
    }

    proptest! {
        #[test]
        fn an_unavailable_place_never_fails_a_message_and_no_batch_is_held_for_longer(
            here in 0_u64..3, anywhere in 0_u64..3, more in 0_u64..3, held in 0_u64..20, away in 0_u64..100,
        ) {
            let mut pacing = OutagePacing { failed_at: Some(Confirmed::default()) };
            let before = confirmed(here, here + anywhere);
            let sent = Unconfirmed {
                is_unavailable: true,
                held: Duration::from_secs(held),
                away: Duration::from_secs(away),
                ..unconfirmed(before, confirmed(here, before.anywhere + more))
            };
            match pacing.after(sent) {
                NextStep::Fail => prop_assert!(false),
                NextStep::Again(_) => prop_assert!(
                    sent.held < OutagePacing::HOLD && sent.away < OutagePacing::HOLD && before.anywhere + more == 0
                ),
                NextStep::GoBack(wait) => prop_assert!(wait >= OutagePacing::SHORTEST && wait <= OutagePacing::LONGEST),
            }
        }
    }
}
