use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use uuid::Uuid;

/// What has come of each message, and when.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    messages: HashMap<Uuid, Life>,
    faults: Vec<Instant>,
    /// What may be lost is enqueued or accepted from then on.
    losing: Option<Instant>,
    /// From then on nothing may be lost any more.
    replaced: Option<Instant>,
}

#[derive(Debug, Default)]
struct Life {
    enqueued: Option<Instant>,
    /// When it was handled.
    delivered: Vec<Instant>,
    accepted: Vec<Instant>,
}

/// What has come of all messages in the end.
#[derive(Clone, Default, Debug)]
pub struct Figures {
    /// Messages whose enqueueing was acknowledged.
    pub messages: usize,
    /// Those that have had their effect.
    pub delivered: usize,
    /// Those that have not, and are not in the queue or with the dead letters either.
    pub lost: usize,
    /// Of the lost: those that were enqueued while the replica received nothing.
    pub lost_with_the_source: usize,
    /// Effects that a message has had beyond its first one.
    pub doubled: usize,
    /// How often a message was handled beyond its first time.
    pub repeats: usize,
    /// How often a message was accepted as done beyond its first time.
    pub accepted_twice: usize,
    /// Of these: what was accepted first while the replica received nothing, and so forgotten.
    pub accepted_and_forgotten: usize,
    /// Messages that are still in the queue, or dead letters.
    pub stuck: usize,
    /// The longest time in which no message was handled.
    pub longest_gap: Duration,
    /// The longest time from a fault until each message has its effect within a second again.
    pub recovery: Duration,
}

impl Tally {
    /// Notes that an enqueueing was acknowledged.
    pub fn enqueued(&self, id: Uuid) {
        let now = Instant::now();
        self.lock().messages.entry(id).or_default().enqueued = Some(now);
    }

    /// Notes that a message was handled.
    pub fn delivered(&self, id: Uuid) {
        let now = Instant::now();
        self.lock().messages.entry(id).or_default().delivered.push(now);
    }

    /// Notes that a message was accepted as done.
    pub fn accepted(&self, id: Uuid) {
        let now = Instant::now();
        self.lock().messages.entry(id).or_default().accepted.push(now);
    }

    /// Notes that a fault begins.
    pub fn fault(&self) {
        self.lock().faults.push(Instant::now());
    }

    /// Notes that the replica receives nothing from now on.
    pub fn loses(&self) {
        self.lock().losing = Some(Instant::now());
    }

    /// Notes that the source is gone and another server is about to be written to: what is written there is kept.
    pub fn replaced(&self) {
        self.lock().replaced = Some(Instant::now());
    }

    /// How many messages that were enqueued before this moment have not been handled yet.
    pub fn open_since(&self, before: Instant) -> usize {
        let is_open = |life: &&Life| {
            life.delivered.is_empty() && life.enqueued.is_some_and(|enqueued| enqueued < before)
        };
        self.lock().messages.values().filter(is_open).count()
    }

    /// How many messages have been enqueued so far.
    pub fn messages(&self) -> usize {
        self.lock().messages.values().filter(|life| life.enqueued.is_some()).count()
    }

    /// How many messages have been handled so far.
    pub fn handled(&self) -> usize {
        self.lock().messages.values().filter(|life| !life.delivered.is_empty()).count()
    }

    /// What has come of it, with the messages of all effects, and how many are in the queue and dead.
    pub fn figures(&self, effects: &[Uuid], left: i64, dead: i64) -> Figures {
        let noted = self.lock();
        let mut had: HashMap<Uuid, usize> = HashMap::new();
        for id in effects {
            *had.entry(*id).or_default() += 1;
        }
        let known = || noted.messages.iter().filter(|(_, life)| life.enqueued.is_some());
        let stuck = usize::try_from(left + dead).unwrap_or_default();
        let without: Vec<&Life> =
            known().filter(|(id, _)| !had.contains_key(id)).map(|(_, life)| life).collect();
        let in_losing = |at: Option<&Instant>| at.is_some_and(|at| noted.may_lose(*at));
        let beyond_first = |count: usize| count.saturating_sub(1);
        let twice = || noted.messages.values().filter(|life| life.accepted.len() > 1);
        Figures {
            messages: known().count(),
            delivered: known().count() - without.len(),
            lost: without.len().saturating_sub(stuck),
            lost_with_the_source: without.iter().filter(|life| in_losing(life.enqueued.as_ref())).count(),
            doubled: had.values().map(|count| beyond_first(*count)).sum(),
            repeats: noted.messages.values().map(|life| beyond_first(life.delivered.len())).sum(),
            accepted_twice: twice().map(|life| beyond_first(life.accepted.len())).sum(),
            accepted_and_forgotten: twice().filter(|life| in_losing(life.accepted.first())).count(),
            stuck,
            longest_gap: noted.longest_gap(),
            recovery: noted.recovery(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Noted {
    fn may_lose(&self, at: Instant) -> bool {
        self.losing.is_some_and(|since| at >= since) && self.replaced.is_none_or(|end| at < end)
    }

    fn longest_gap(&self) -> Duration {
        let mut times: Vec<Instant> =
            self.messages.values().flat_map(|life| &life.delivered).copied().collect();
        times.sort_unstable();
        times.windows(2).map(|two| two[1] - two[0]).max().unwrap_or_default()
    }

    /// A message that had its effect later than a second after it was enqueued belongs to the last fault before that.
    fn recovery(&self) -> Duration {
        const SOON: Duration = Duration::from_secs(1);
        let late = self.messages.values().filter_map(|life| {
            let (enqueued, done) = (life.enqueued?, *life.delivered.first()?);
            (done.saturating_duration_since(enqueued) > SOON).then_some(done)
        });
        let since_fault = late.filter_map(|done| {
            let before = self.faults.iter().filter(|fault| **fault <= done);
            before.max().map(|fault| done - *fault)
        });
        since_fault.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_doubled_and_accepted_twice_is_counted() {
        let tally = Tally::default();
        let ids: Vec<Uuid> = (1..=4).map(Uuid::from_u128).collect();
        ids.iter().for_each(|id| tally.enqueued(*id));
        for id in [ids[0], ids[1], ids[1]] {
            tally.delivered(id);
            tally.accepted(id);
        }
        let figures = tally.figures(&[ids[0], ids[1], ids[1]], 1, 0);
        assert_eq!((figures.messages, figures.delivered, figures.lost, figures.stuck), (4, 2, 1, 1));
        assert_eq!((figures.doubled, figures.repeats, figures.accepted_twice), (1, 1, 1));
        assert_eq!((figures.lost_with_the_source, figures.accepted_and_forgotten), (0, 0));
    }

    #[test]
    fn what_the_source_took_with_it_is_counted_apart() {
        let tally = Tally::default();
        let [kept, gone] = [1, 2].map(Uuid::from_u128);
        tally.enqueued(kept);
        tally.loses();
        tally.enqueued(gone);
        tally.accepted(kept);
        tally.accepted(kept);
        let figures = tally.figures(&[kept], 0, 0);
        assert_eq!((figures.lost, figures.lost_with_the_source), (1, 1));
        assert_eq!((figures.accepted_twice, figures.accepted_and_forgotten), (1, 1));
    }

    #[test]
    fn what_is_lost_after_the_source_was_replaced_is_no_ones_excuse() {
        let tally = Tally::default();
        let [kept, gone] = [1, 2].map(Uuid::from_u128);
        tally.enqueued(kept);
        tally.loses();
        tally.replaced();
        tally.enqueued(gone);
        tally.accepted(kept);
        tally.accepted(kept);
        let figures = tally.figures(&[kept], 0, 0);
        assert_eq!((figures.lost, figures.lost_with_the_source), (1, 0));
        assert_eq!((figures.accepted_twice, figures.accepted_and_forgotten), (1, 0));
    }
}
