use std::{fmt, time::Duration};

use super::{answer_window::AnswerWindow, breaker_policy::BreakerPolicy};

/// The circuit breaker of one provider.
///
/// * closed: every message may pass. Enough failures within the window open it.
/// * open: no message passes until the pause is over.
/// * half-open: exactly one message passes, as a trial. If the provider takes it, or refuses it for a reason of its own, the
///   circuit closes; if it fails, the circuit is open for twice as long.
///
/// Time is handed in as the time since some fixed moment; it never goes back.
#[derive(Clone, Debug)]
pub struct Breaker {
    policy: BreakerPolicy,
    state: Phase,
}

/// Where a breaker stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BreakerState {
    /// Messages pass.
    Closed,
    /// None passes.
    Open,
    /// A trial is on its way.
    HalfOpen,
}

/// Whether a message may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It may.
    Granted(Pass),
    /// It may not, for so long at least.
    Refused(Duration),
}

/// The right to ask a provider once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "its answer is to be noted, or the pass abandoned"]
pub enum Pass {
    /// One of many.
    Regular,
    /// The only one; its answer decides whether the circuit closes.
    Trial,
}

/// What an answer changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BreakerTurn {
    /// The circuit is open now, for so long.
    Opened(Duration),
    /// It is closed again.
    Closed,
}

#[derive(Clone, Debug)]
enum Phase {
    Closed(AnswerWindow),
    Open { until: Duration, failed_trials: u32 },
    HalfOpen { failed_trials: u32 },
}

impl Breaker {
    /// A closed circuit.
    pub fn new(policy: BreakerPolicy) -> Self {
        Self { policy, state: Phase::Closed(AnswerWindow::default()) }
    }

    /// Where it stands.
    pub fn state(&self) -> BreakerState {
        match self.state {
            Phase::Closed(_) => BreakerState::Closed,
            Phase::Open { .. } => BreakerState::Open,
            Phase::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// How long no message may pass; `None` if one may.
    pub fn closed_to_messages(&self, now: Duration) -> Option<Duration> {
        match self.state {
            Phase::Closed(_) => None,
            Phase::Open { until, .. } => until.checked_sub(now).filter(|left| !left.is_zero()),
            Phase::HalfOpen { .. } => Some(self.policy.pause),
        }
    }

    /// Lets a message pass, or says for how long it may not. Every pass is followed by [`note`](Self::note) or
    /// [`abandon`](Self::abandon).
    pub fn admit(&mut self, now: Duration) -> Admission {
        if let Some(left) = self.closed_to_messages(now) {
            return Admission::Refused(left);
        }
        match self.state {
            Phase::Open { failed_trials, .. } => {
                self.state = Phase::HalfOpen { failed_trials };
                Admission::Granted(Pass::Trial)
            }
            _ => Admission::Granted(Pass::Regular),
        }
    }

    /// Notes whether the provider failed the message of a pass. Answers to messages that passed before the circuit opened
    /// change nothing.
    pub fn note(&mut self, pass: Pass, failed: bool, now: Duration) -> Option<BreakerTurn> {
        let policy = self.policy;
        match (&mut self.state, pass, failed) {
            (Phase::Closed(window), Pass::Regular, _) => {
                window.note(policy.window, now, failed);
                // Earlier answers leave the window as time passes, which is no reason to distrust a good one.
                (failed && window.is_bad(policy, now)).then(|| self.open(now, 0))
            }
            (Phase::HalfOpen { failed_trials }, Pass::Trial, true) => {
                let failed_trials = failed_trials.saturating_add(1);
                Some(self.open(now, failed_trials))
            }
            (Phase::HalfOpen { .. }, Pass::Trial, false) => {
                self.state = Phase::Closed(AnswerWindow::default());
                Some(BreakerTurn::Closed)
            }
            _ => None,
        }
    }

    /// Takes a pass back that was not used, or whose answer was not received; the next message may be the trial instead.
    pub fn abandon(&mut self, pass: Pass, now: Duration) {
        if let (Phase::HalfOpen { failed_trials }, Pass::Trial) = (&self.state, pass) {
            self.state = Phase::Open { until: now, failed_trials: *failed_trials };
        }
    }

    fn open(&mut self, now: Duration, failed_trials: u32) -> BreakerTurn {
        let pause = self.policy.pause_after(failed_trials);
        self.state = Phase::Open { until: now.saturating_add(pause), failed_trials };
        BreakerTurn::Opened(pause)
    }
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const POLICY: BreakerPolicy = BreakerPolicy {
        failures: 3,
        window: Duration::from_secs(8),
        pause: Duration::from_secs(5),
        pause_cap: Duration::from_secs(30),
        silence: Duration::from_secs(2),
    };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A circuit that failures have opened at second 10.
    fn opened() -> Breaker {
        let mut breaker = Breaker::new(POLICY);
        let turns: Vec<_> = (0..3).filter_map(|_| breaker.note(Pass::Regular, true, at(10))).collect();
        assert_eq!(turns, [BreakerTurn::Opened(at(5))]);
        breaker
    }

    /// Guard: a few failures among many answers open no circuit | src/notification/provider/answer_window.rs:
    /// no share of failures
    #[test]
    fn enough_failures_within_the_window_open_it_and_few_among_many_do_not() {
        assert_eq!(opened().state(), BreakerState::Open);
        let mut slow = Breaker::new(POLICY);
        assert!([0, 9, 18, 27].iter().all(|s| slow.note(Pass::Regular, true, at(*s)).is_none()));
        let mut busy = Breaker::new(POLICY);
        for n in 0..100 {
            assert_eq!(busy.note(Pass::Regular, n % 3 == 0 && n > 5, at(1)), None);
        }
    }

    /// Guard: consecutive failures open a busy circuit | src/notification/provider/answer_window.rs: no
    /// number is enough
    #[test]
    fn a_run_of_failures_opens_it_however_many_answers_were_good_before() {
        let mut breaker = Breaker::new(POLICY);
        assert!((0..1_000).all(|_| breaker.note(Pass::Regular, false, at(1)).is_none()));
        assert!((0..2).all(|_| breaker.note(Pass::Regular, true, at(2)).is_none()));
        assert_eq!(breaker.note(Pass::Regular, false, at(2)), None);
        assert!((0..2).all(|_| breaker.note(Pass::Regular, true, at(2)).is_none()), "the run was broken");
        assert_eq!(breaker.note(Pass::Regular, true, at(2)), Some(BreakerTurn::Opened(at(5))));
    }

    /// Guard: a successful answer opens no circuit | `note`: without `failed`
    #[test]
    fn no_good_answer_opens_it_though_older_ones_have_left_the_window() {
        let mut breaker = Breaker::new(POLICY);
        assert!((0..4).all(|_| breaker.note(Pass::Regular, false, at(0)).is_none()));
        assert!([true, true, false, true].iter().all(|f| breaker.note(Pass::Regular, *f, at(5)).is_none()));
        assert_eq!(breaker.note(Pass::Regular, false, at(9)), None);
        assert_eq!(breaker.note(Pass::Regular, true, at(9)), Some(BreakerTurn::Opened(at(5))));
    }

    /// Guard: a half-open circuit passes one message | it refuses none
    #[test]
    fn half_open_lets_exactly_one_message_pass_and_its_answer_decides() {
        let mut breaker = opened();
        assert_eq!(breaker.admit(at(12)), Admission::Refused(at(3)));
        assert_eq!(breaker.admit(at(15)), Admission::Granted(Pass::Trial));
        assert!(matches!(breaker.admit(at(15)), Admission::Refused(_)));
        assert_eq!(breaker.note(Pass::Regular, false, at(15)), None, "it passed before the circuit opened");
        assert_eq!(breaker.note(Pass::Trial, true, at(16)), Some(BreakerTurn::Opened(at(10))));
        assert_eq!(breaker.admit(at(26)), Admission::Granted(Pass::Trial));
        assert_eq!(breaker.note(Pass::Trial, false, at(27)), Some(BreakerTurn::Closed));
        assert_eq!(breaker.admit(at(27)), Admission::Granted(Pass::Regular));
    }

    #[test]
    fn a_trial_without_an_end_is_given_to_the_next_message() {
        let mut breaker = opened();
        let Admission::Granted(trial) = breaker.admit(at(20)) else { panic!("refused") };
        breaker.abandon(trial, at(21));
        assert_eq!(breaker.admit(at(21)), Admission::Granted(Pass::Trial));
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses: Vec<_> = (0..5).map(|n| POLICY.pause_after(n).as_secs()).collect();
        assert_eq!(pauses, [5, 10, 20, 30, 30]);
        assert_eq!(POLICY.pause_after(u32::MAX), at(30));
    }

    #[test]
    fn a_policy_that_could_not_work_is_refused() {
        for bad in [
            BreakerPolicy { failures: 0, ..POLICY },
            BreakerPolicy { window: Duration::ZERO, ..POLICY },
            BreakerPolicy { pause: Duration::ZERO, ..POLICY },
            BreakerPolicy { pause_cap: at(1), ..POLICY },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        assert!(POLICY.check().is_ok() && BreakerPolicy::default().check().is_ok());
    }

    #[derive(Clone, Copy, Debug)]
    enum Move {
        Wait(u64),
        Ask,
        /// The oldest open pass ends: well, badly, or unheard.
        End(Option<bool>),
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let one = prop_oneof![
            (0..20_000_u64).prop_map(Move::Wait),
            Just(Move::Ask),
            Just(Move::Ask),
            prop_oneof![Just(Some(true)), Just(Some(false)), Just(None)].prop_map(Move::End),
        ];
        vec(one, 0..200)
    }

    proptest! {
        #[test]
        fn whatever_comes_there_is_at_most_one_trial_and_an_open_circuit_keeps_its_pause(moves in moves()) {
            let (mut breaker, mut now) = (Breaker::new(POLICY), Duration::ZERO);
            let (mut passes, mut opened) = (Vec::new(), None::<(Duration, Duration)>);
            for one in moves {
                match one {
                    Move::Wait(millis) => now += Duration::from_millis(millis),
                    Move::Ask => match breaker.admit(now) {
                        Admission::Granted(pass) => {
                            prop_assert_eq!(breaker.state() == BreakerState::Closed, pass == Pass::Regular);
                            if let (Pass::Trial, Some((since, pause))) = (pass, opened) {
                                prop_assert!(now >= since + pause);
                            }
                            passes.push(pass);
                        }
                        Admission::Refused(left) => {
                            prop_assert!(left > Duration::ZERO && left <= POLICY.pause_cap);
                            prop_assert!(breaker.state() != BreakerState::Closed);
                        }
                    },
                    Move::End(failed) if !passes.is_empty() => {
                        let pass = passes.remove(0);
                        match failed {
                            None => breaker.abandon(pass, now),
                            Some(failed) => match breaker.note(pass, failed, now) {
                                Some(BreakerTurn::Opened(pause)) => {
                                    prop_assert!(failed && pause >= POLICY.pause && pause <= POLICY.pause_cap);
                                    opened = Some((now, pause));
                                }
                                Some(BreakerTurn::Closed) => {
                                    prop_assert!(!failed && pass == Pass::Trial);
                                    opened = None;
                                }
                                None => {}
                            },
                        }
                    }
                    Move::End(_) => {}
                }
                prop_assert!(passes.iter().filter(|pass| **pass == Pass::Trial).count() <= 1);
            }
        }

        #[test]
        fn it_comes_back_by_itself_once_the_provider_answers(failures in 0..20_u32) {
            let (mut breaker, mut now) = (opened(), at(10));
            for failed in (0..failures).map(|_| true).chain([false]) {
                now += POLICY.pause_cap;
                let Admission::Granted(pass) = breaker.admit(now) else { panic!("refused after the longest pause") };
                let _ = breaker.note(pass, failed, now);
            }
            prop_assert_eq!(breaker.state(), BreakerState::Closed);
        }
    }
}
