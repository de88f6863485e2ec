use std::collections::{HashMap, HashSet};

use claimstream_sea_orm::Order;
use serde::Serialize;
use uuid::Uuid;

use crate::history::{Answer, HandOut, History, How, Turn};

/// What must not happen, and how often it did.
#[derive(Serialize, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Wrongs {
    /// Messages that never came to an end.
    pub(crate) lost: usize,
    /// Messages that came to more than one end, attempts that were counted twice or taken back without being counted, and
    /// acceptances of one claim twice.
    pub(crate) duplicates_by_fence: usize,
    /// Answers that do not fit what the database did.
    pub(crate) wrong_answers: usize,
    /// Leases that were taken over before they had run out.
    pub(crate) early_take_overs: usize,
    /// Messages that were handed out while the one before them still held the key.
    pub(crate) disorder: usize,
    /// Ends of a key that were not the next one.
    pub(crate) gaps: usize,
    /// Hand-outs whose attempt number was not above the one before.
    pub(crate) attempts_not_rising: usize,
    /// Hand-outs whose attempt was never counted.
    pub(crate) uncounted_attempts: usize,
    /// Suspects that were cut off together with others: they were not alone.
    pub(crate) suspects_in_company: usize,
    /// Poison that was not buried, or not when the policy says.
    pub(crate) poison_not_buried: usize,
    /// Others that were buried.
    pub(crate) buried_innocents: usize,
}

impl History {
    /// Everything that went wrong; `order` says what of it counts, `attempts` how often a message may be tried.
    pub(crate) fn wrongs(&self, order: Order, attempts: u32) -> Wrongs {
        let poison: HashSet<Uuid> =
            self.sent.iter().filter(|sent| sent.is_poison).map(|sent| sent.id).collect();
        Wrongs {
            lost: self.lost(),
            duplicates_by_fence: self.duplicates(),
            wrong_answers: self.wrong_answers(),
            early_take_overs: self.early_take_overs(),
            disorder: self.hand_outs.iter().filter(|hand_out| hand_out.is_early).count(),
            gaps: if order == Order::PerKey { self.gaps() } else { 0 },
            attempts_not_rising: self.attempts_not_rising(),
            uncounted_attempts: self.uncounted_attempts(),
            suspects_in_company: self.suspects_in_company(),
            poison_not_buried: poison.iter().filter(|id| !self.is_buried_by_policy(id, attempts)).count(),
            buried_innocents: self.dead.keys().filter(|id| !poison.contains(id)).count(),
        }
    }

    fn lost(&self) -> usize {
        let ended: HashSet<Uuid> = self.ends().map(|turn| turn.id).collect();
        self.sent.iter().filter(|sent| !ended.contains(&sent.id)).count()
    }

    fn duplicates(&self) -> usize {
        let accepted = self.answers.iter().filter(|answer| answer.is_accepted);
        repeated(self.ends().map(|turn| turn.id))
            + self.miscounts()
            + repeated(accepted.map(|answer| (answer.id, answer.attempt)))
    }

    /// An attempt is counted once, and once more only after it was taken back.
    fn miscounts(&self) -> usize {
        let mut counted = HashSet::new();
        let mut fits = |turn: &Turn| match turn.how {
            How::TakenBack => counted.remove(&(turn.id, turn.attempt)),
            _ => counted.insert((turn.id, turn.attempt)),
        };
        self.turns.iter().filter(|turn| !fits(turn)).count()
    }

    fn wrong_answers(&self) -> usize {
        let taken_back = self.taken_back();
        let settled = self.turns.iter().filter(|turn| matches!(turn.how, How::Ended | How::Failed));
        let settled: HashSet<_> = settled.map(|turn| (turn.id, turn.attempt)).collect();
        let fits = |answer: &&Answer| match taken_back.get(&answer.id) {
            None => answer.is_accepted == settled.contains(&(answer.id, answer.attempt)),
            Some(most) => !answer.is_accepted || is_among(&settled, answer.id, answer.attempt, *most),
        };
        self.answers.iter().filter(|answer| !fits(answer)).count()
    }

    fn early_take_overs(&self) -> usize {
        let mut hand_outs: HashMap<_, Vec<&HandOut>> = HashMap::new();
        for hand_out in &self.hand_outs {
            hand_outs.entry((hand_out.id, hand_out.attempt)).or_default().push(hand_out);
        }
        let mut taken_back: HashMap<_, usize> = HashMap::new();
        for (n, turn) in self.turns.iter().enumerate().filter(|(_, turn)| turn.how == How::TakenBack) {
            taken_back.insert((turn.id, turn.attempt), n);
        }
        let is_early = |(n, turn): &(usize, &Turn)| {
            let entry = (turn.id, turn.attempt);
            let is_back = taken_back.get(&entry).is_some_and(|back| back > n);
            // What is handed out under the same number after it was taken back has a lease of its own.
            let mut ended =
                hand_outs.get(&entry).into_iter().flatten().filter(|one| !is_back || one.begun <= turn.at);
            ended.any(|hand_out| turn.at < hand_out.begun + hand_out.lease_left)
        };
        let lapses = self.turns.iter().enumerate();
        lapses.filter(|(_, turn)| matches!(turn.how, How::CutOff | How::Lapsed)).filter(is_early).count()
    }

    fn gaps(&self) -> usize {
        let places: HashMap<Uuid, (u32, u32)> =
            self.sent.iter().map(|sent| (sent.id, (sent.key, sent.seq))).collect();
        let mut next: HashMap<u32, u32> = HashMap::new();
        let mut gaps = 0;
        for (key, seq) in self.ends().filter_map(|turn| places.get(&turn.id)) {
            let expected = next.insert(*key, seq + 1).unwrap_or_default();
            gaps += usize::from(*seq != expected);
        }
        gaps
    }

    fn attempts_not_rising(&self) -> usize {
        let mut taken_back = self.taken_back();
        let mut newest: HashMap<Uuid, u32> = HashMap::new();
        let mut not_rising = 0;
        for hand_out in &self.hand_outs {
            let before = newest.insert(hand_out.id, hand_out.attempt);
            if before.is_some_and(|before| before >= hand_out.attempt) {
                match taken_back.get_mut(&hand_out.id).filter(|left| **left > 0) {
                    Some(left) => *left -= 1,
                    None => not_rising += 1,
                }
            }
        }
        not_rising
    }

    fn uncounted_attempts(&self) -> usize {
        let taken_back = self.taken_back();
        let counted = self.turns.iter().filter(|turn| turn.how != How::TakenBack);
        let counted: HashSet<_> = counted.map(|turn| (turn.id, turn.attempt)).collect();
        let is_counted = |hand_out: &&HandOut| {
            let most = taken_back.get(&hand_out.id).copied().unwrap_or_default();
            is_among(&counted, hand_out.id, hand_out.attempt, most)
        };
        self.hand_outs.iter().filter(|hand_out| !is_counted(hand_out)).count()
    }

    fn suspects_in_company(&self) -> usize {
        let mut suspects: HashSet<Uuid> = HashSet::new();
        let mut cut_off: HashMap<(u16, i64), (usize, usize)> = HashMap::new();
        for turn in &self.turns {
            let is_suspect = suspects.contains(&turn.id);
            if turn.how == How::CutOff {
                suspects.insert(turn.id);
                let (all, old) = cut_off.entry((turn.shard, turn.at)).or_default();
                (*all, *old) = (*all + 1, *old + usize::from(is_suspect));
            } else {
                suspects.remove(&turn.id);
            }
        }
        cut_off.values().filter(|(all, _)| *all > 1).map(|(_, old)| old).sum()
    }

    /// Each attempt that the policy allows ended a process or was cut off; the claim after the last one buried it.
    fn is_buried_by_policy(&self, id: &Uuid, attempts: u32) -> bool {
        let handled = self.hand_outs.iter().filter(|hand_out| hand_out.id == *id);
        let taken_back = self.taken_back().get(id).copied().unwrap_or_default();
        self.dead.get(id).is_some_and(|tried| *tried + taken_back > attempts)
            && handled.count() <= attempts as usize
    }
}

/// Whether this attempt of a message is among these, or one of the `most` before it.
fn is_among(attempts: &HashSet<(Uuid, u32)>, id: Uuid, attempt: u32, most: u32) -> bool {
    (attempt.saturating_sub(most)..=attempt).any(|attempt| attempts.contains(&(id, attempt)))
}

/// How many entries were there before.
fn repeated<T: Eq + std::hash::Hash>(entries: impl Iterator<Item = T>) -> usize {
    let mut seen = HashSet::new();
    entries.map(|entry| usize::from(!seen.insert(entry))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Sent;

    const NO_WRONG: Wrongs = Wrongs {
        lost: 0,
        duplicates_by_fence: 0,
        wrong_answers: 0,
        early_take_overs: 0,
        disorder: 0,
        gaps: 0,
        attempts_not_rising: 0,
        uncounted_attempts: 0,
        suspects_in_company: 0,
        poison_not_buried: 0,
        buried_innocents: 0,
    };

    fn id(n: u32) -> Uuid {
        Uuid::from_u128(u128::from(n))
    }

    fn hand_out(n: u32, attempt: u32, begun: i64) -> HandOut {
        HandOut { id: id(n), attempt, instance: 1, begun, lease_left: 10, is_early: false }
    }

    fn turn(n: u32, how: How, attempt: u32, at: i64) -> Turn {
        Turn { id: id(n), shard: 3, how, attempt, at }
    }

    fn accepted(n: u32, attempt: u32) -> Answer {
        Answer { id: id(n), attempt, is_accepted: true }
    }

    /// Messages 0 and 1 of one key, the first is cut off together with poison, message 2, whose second attempt is the last.
    fn good() -> History {
        use How::{CutOff, Ended};
        let sent = |n, key, seq| Sent { id: id(n), key, seq, is_poison: n == 2 };
        History {
            sent: vec![sent(0, 1, 0), sent(1, 1, 1), sent(2, 2, 0)],
            hand_outs: vec![
                hand_out(0, 1, 100),
                hand_out(2, 1, 100),
                hand_out(0, 2, 120),
                hand_out(2, 2, 130),
                hand_out(1, 1, 150),
            ],
            turns: vec![
                turn(0, CutOff, 1, 111),
                turn(2, CutOff, 1, 111),
                turn(0, Ended, 2, 125),
                turn(2, CutOff, 2, 141),
                turn(2, Ended, 3, 145),
                turn(1, Ended, 1, 155),
            ],
            answers: vec![accepted(0, 2), accepted(1, 1)],
            dead: [(id(2), 3)].into(),
        }
    }

    fn wrongs(change: impl FnOnce(&mut History)) -> Wrongs {
        let mut history = good();
        change(&mut history);
        history.wrongs(Order::PerKey, 2)
    }

    #[test]
    fn a_good_run_has_no_wrongs() {
        assert_eq!(wrongs(|_| {}), NO_WRONG);
        assert_eq!(good().repeats(), 2);
    }

    #[test]
    fn what_is_lost_doubled_or_answered_wrongly_is_found() {
        let lost = wrongs(|history| history.turns.truncate(5));
        assert_eq!((lost.lost, lost.wrong_answers, lost.uncounted_attempts), (1, 1, 1));
        let ended_twice = wrongs(|history| history.turns.push(turn(1, How::Ended, 2, 160)));
        assert_eq!((ended_twice.duplicates_by_fence, ended_twice.gaps), (1, 1));
        assert_eq!(wrongs(|history| history.answers.push(accepted(0, 2))).duplicates_by_fence, 1);
        assert_eq!(wrongs(|history| history.answers.push(accepted(0, 1))).wrong_answers, 1);
        assert_eq!(wrongs(|history| history.answers[0].is_accepted = false).wrong_answers, 1);
    }

    #[test]
    fn disorder_and_gaps_are_found() {
        assert_eq!(wrongs(|history| history.hand_outs[4].is_early = true).disorder, 1);
        assert_eq!(wrongs(|history| history.turns.swap(2, 5)).gaps, 2);
    }

    #[test]
    fn lost_attempts_and_early_take_overs_are_found() {
        assert_eq!(wrongs(|history| history.hand_outs[2].attempt = 1).attempts_not_rising, 1);
        assert_eq!(wrongs(|history| history.turns.retain(|turn| turn.at != 141)).uncounted_attempts, 1);
        assert_eq!(wrongs(|history| history.turns[3].at = 139).early_take_overs, 1);
    }

    /// Message 1 is taken over before a handler has begun with it, and its first holder gives it back too late.
    fn taken_back(change: impl FnOnce(&mut History)) -> Wrongs {
        wrongs(|history| {
            history.turns.insert(5, turn(1, How::CutOff, 1, 146));
            history.turns.insert(6, turn(1, How::TakenBack, 1, 148));
            change(history);
        })
    }

    #[test]
    fn an_attempt_that_was_taken_back_is_counted_once_more() {
        assert_eq!(taken_back(|_| {}), NO_WRONG);
        // It was handed out under the second number, before the first was taken back.
        let meanwhile = taken_back(|history| {
            history.hand_outs[4] = hand_out(1, 2, 147);
            history.answers[1] = accepted(1, 2);
        });
        assert_eq!(meanwhile, NO_WRONG);
        let twice = taken_back(|history| history.turns.insert(7, turn(1, How::TakenBack, 1, 149)));
        assert_eq!(twice.duplicates_by_fence, 1);
        let never = taken_back(|history| history.turns.retain(|turn| turn.how != How::TakenBack));
        assert_eq!((never.duplicates_by_fence, never.early_take_overs), (1, 1));
        let begun = taken_back(|history| history.hand_outs.insert(4, hand_out(1, 1, 145)));
        assert_eq!((begun.early_take_overs, begun.attempts_not_rising), (1, 0));
        let again =
            |history: &mut History| history.hand_outs.extend([hand_out(1, 1, 152), hand_out(1, 1, 153)]);
        assert_eq!(taken_back(again).attempts_not_rising, 1);
    }

    #[test]
    fn what_ran_out_in_living_hands_was_not_settled() {
        let lapsed = |at, is_accepted| {
            wrongs(|history| {
                history.turns.insert(5, turn(1, How::Lapsed, 1, at));
                history.turns[6].attempt = 2;
                history.hand_outs.push(hand_out(1, 2, 175));
                history.answers =
                    vec![accepted(0, 2), Answer { is_accepted, ..accepted(1, 1) }, accepted(1, 2)];
            })
        };
        assert_eq!(lapsed(170, false), NO_WRONG);
        assert_eq!(lapsed(170, true).wrong_answers, 1);
        assert_eq!(lapsed(155, false).early_take_overs, 1);
    }

    #[test]
    fn poison_must_be_buried_alone_and_nothing_else() {
        let in_company = wrongs(|history| history.turns.insert(3, turn(1, How::CutOff, 0, 141)));
        assert_eq!(in_company.suspects_in_company, 1);
        assert_eq!(wrongs(|history| history.dead = [(id(2), 2)].into()).poison_not_buried, 1);
        assert_eq!(wrongs(|history| history.hand_outs.push(hand_out(2, 3, 146))).poison_not_buried, 1);
        assert_eq!(wrongs(|history| history.dead.extend([(id(1), 9)])).buried_innocents, 1);
    }
}
