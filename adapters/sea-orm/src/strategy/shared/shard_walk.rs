use std::time::Duration;

use claimstream_domain::{QueueName, Shard};

use crate::strategy::shared::known_shards::KnownShards;

/// A claim's walk over the shards of its queue: it visits hot shards until the claim has enough or none is left.
///
/// It looks for hot shards if there is none, and from time to time in any case. It only decides: the claim looks and visits.
pub(crate) struct ShardWalk<'a> {
    known: &'a KnownShards,
    queue: QueueName,
    visited: Vec<Shard>,
    has_begun: bool,
    has_looked: bool,
}

/// What a claim does next on its walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalkStep {
    /// It looks without locks which shards have due messages, and notes them.
    Look,
    /// It takes messages from this shard.
    Visit(Shard),
    /// The walk is over.
    Done,
}

/// How much a claim has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalkProgress {
    Nothing,
    Some,
    /// It takes no more.
    Enough,
}

impl<'a> ShardWalk<'a> {
    pub(crate) fn of(known: &'a KnownShards, queue: QueueName) -> Self {
        Self { known, queue, visited: Vec::new(), has_begun: false, has_looked: false }
    }

    /// The next step of a claim that has taken so much; `now` is monotonic.
    pub(crate) fn next(&mut self, progress: WalkProgress, now: Duration) -> WalkStep {
        let begins = !std::mem::replace(&mut self.has_begun, true);
        if begins && self.known.wants_look(&self.queue, now) {
            self.note_look();
            return WalkStep::Look;
        }
        if progress == WalkProgress::Enough {
            return WalkStep::Done;
        }
        match self.next_hot() {
            Some(shard) => {
                self.note_visited(shard);
                WalkStep::Visit(shard)
            }
            None if self.has_looked || progress == WalkProgress::Some => WalkStep::Done,
            None => {
                self.note_look();
                WalkStep::Look
            }
        }
    }

    /// The claim looks: the walk has begun, and contains no further look.
    pub(crate) fn note_look(&mut self) {
        (self.has_begun, self.has_looked) = (true, true);
    }

    /// The next hot shard that was not visited; the walk may come to it later if it stays hot.
    pub(crate) fn next_hot(&self) -> Option<Shard> {
        self.known.next_hot(&self.queue, &self.visited)
    }

    /// The walk does not come to this shard any more.
    pub(crate) fn note_visited(&mut self, shard: Shard) {
        self.visited.push(shard);
    }

    /// The shards that were visited.
    pub(crate) fn visited(&self) -> &[Shard] {
        &self.visited
    }
}

#[cfg(test)]
mod tests {
    use claimstream_domain::ShardCount;

    use super::*;

    const NOW: Duration = Duration::from_secs(10);

    fn known() -> (KnownShards, QueueName) {
        (KnownShards::new(ShardCount::new(8).unwrap()), QueueName::new("q").unwrap())
    }

    fn shards<const N: usize>(numbers: [u16; N]) -> [Shard; N] {
        numbers.map(Shard::from_number)
    }

    #[test]
    fn the_first_walk_looks_and_visits_each_shard_once_that_the_look_found_due() {
        let ((known, queue), [one, two]) = (known(), shards([1, 2]));
        let mut walk = ShardWalk::of(&known, queue.clone());
        assert_eq!(walk.next(WalkProgress::Nothing, NOW), WalkStep::Look);
        known.heat(&queue, &[one, two], 0, NOW);
        assert_eq!(walk.next(WalkProgress::Nothing, NOW), WalkStep::Visit(one));
        known.full(&queue, one);
        assert_eq!(walk.next(WalkProgress::Some, NOW), WalkStep::Visit(two));
        assert_eq!(walk.next(WalkProgress::Nothing, NOW), WalkStep::Done, "one look is enough");
        assert_eq!(walk.visited(), [one, two]);
        assert_eq!(known.next_hot(&queue, &[]), Some(one), "what came back full waits for the next walk");
    }

    #[test]
    fn a_walk_soon_after_a_look_looks_only_if_it_found_nothing_in_hot_shards() {
        let ((known, queue), [hot]) = (known(), shards([3]));
        known.heat(&queue, &[hot], 0, NOW);
        let mut walk = ShardWalk::of(&known, queue.clone());
        assert_eq!(walk.next(WalkProgress::Nothing, NOW), WalkStep::Visit(hot));
        assert_eq!(walk.next(WalkProgress::Some, NOW), WalkStep::Done);
        let mut walk = ShardWalk::of(&known, queue);
        assert_eq!(walk.next(WalkProgress::Nothing, NOW), WalkStep::Look);
        assert_eq!(walk.next(WalkProgress::Nothing, NOW), WalkStep::Done, "the look found nothing");
    }

    /// Guard: no claim lasts for long without a look at all shards | `next`: `wants_look` is not asked
    #[test]
    fn a_walk_two_seconds_after_a_look_begins_with_one_also_if_the_claim_has_enough() {
        let ((known, queue), [hot]) = (known(), shards([3]));
        known.heat(&queue, &[hot], 0, NOW);
        let mut walk = ShardWalk::of(&known, queue.clone());
        assert_eq!(walk.next(WalkProgress::Enough, NOW + Duration::from_secs(2)), WalkStep::Look);
        assert_eq!(walk.next(WalkProgress::Enough, NOW), WalkStep::Done);
        assert_eq!(known.next_hot(&queue, &[]), Some(hot), "a claim that has enough takes no shard's turn");
    }

    #[test]
    fn a_walk_after_a_look_of_its_claim_comes_to_the_shards_that_are_left_and_looks_no_more() {
        let ((known, queue), [one, two, three]) = (known(), shards([1, 2, 3]));
        let mut walk = ShardWalk::of(&known, queue.clone());
        walk.note_look();
        known.heat(&queue, &[one, two, three], 0, NOW);
        assert_eq!((walk.next_hot(), walk.next_hot()), (Some(one), Some(two)));
        walk.note_visited(one);
        known.full(&queue, two);
        let later = NOW + Duration::from_secs(9);
        assert_eq!(walk.next(WalkProgress::Nothing, later), WalkStep::Visit(three));
        assert_eq!(walk.next(WalkProgress::Nothing, later), WalkStep::Visit(two));
        assert_eq!(walk.next(WalkProgress::Nothing, later), WalkStep::Done);
    }
}
