use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::{QueueName, Shard, ShardCount};

/// Which shards of which queue to claim from next, and from where in them.
///
/// A shard is hot while claims from it come back full. The watermark of a shard is the oldest due time of the last full
/// claim: entries below it are mostly the traces of messages that were claimed before, and a locking read would have to walk
/// over every one of them. It is dropped on a short claim and after two seconds, so that a message that became visible late
/// waits at most that long. For the same reason no instance claims for longer than that without a look at all shards: those that
/// it finds due go behind those that are hot, and hot shards take turns, so that one that is always full starves no other.
///
/// Only shards that the newest look has found due are hot, although claims that were under way still come back full: a look finds
/// nothing due in a paused queue or in a closed shard, and then no claim looks there until a look finds something again.
pub(crate) struct KnownShards {
    shards: ShardCount,
    queues: Mutex<HashMap<QueueName, Known>>,
}

#[derive(Default)]
struct Known {
    hot: VecDeque<Shard>,
    low: HashMap<Shard, (i64, Duration)>,
    turn: u16,
    looked_at: Option<Duration>,
    /// What the newest look has found due, if there was one.
    due: Option<Vec<Shard>>,
}

impl KnownShards {
    const WATERMARK_LIVES: Duration = Duration::from_secs(2);

    pub(crate) fn new(shards: ShardCount) -> Self {
        Self { shards, queues: Mutex::default() }
    }

    /// Whether it is time to look at all shards, whatever is hot; of many callers, one gets `true`. `now` is monotonic.
    pub(crate) fn wants_look(&self, queue: &QueueName, now: Duration) -> bool {
        let is_old = |looked_at: Duration| now.saturating_sub(looked_at) >= Self::WATERMARK_LIVES;
        self.with(queue, |known| {
            let wants = known.looked_at.is_none_or(is_old);
            if wants {
                known.looked_at = Some(now);
            }
            wants
        })
    }

    /// The next hot shard that this call has not visited.
    pub(crate) fn next_hot(&self, queue: &QueueName, visited: &[Shard]) -> Option<Shard> {
        self.with(queue, |known| {
            let at = known.hot.iter().position(|shard| !visited.contains(shard))?;
            known.hot.remove(at)
        })
    }

    /// Where to begin in a shard, in the store's time; the beginning of time without a watermark. `now` is monotonic.
    pub(crate) fn low(&self, queue: &QueueName, shard: Shard, now: Duration) -> i64 {
        self.with(queue, |known| match known.low.get(&shard) {
            Some((low, since)) if now.saturating_sub(*since) < Self::WATERMARK_LIVES => *low,
            _ => {
                known.low.remove(&shard);
                0
            }
        })
    }

    /// Notes a full claim.
    pub(crate) fn full(&self, queue: &QueueName, shard: Shard) {
        self.with(queue, |known| {
            // A look of another call may have found it in the meantime.
            let may_be_hot = known.due.as_ref().is_none_or(|due| due.contains(&shard));
            if may_be_hot && !known.hot.contains(&shard) {
                known.hot.push_back(shard);
            }
        });
    }

    /// Raises the watermark of a hot shard to the oldest due time that was claimed from it.
    pub(crate) fn raise(&self, queue: &QueueName, shard: Shard, oldest: i64, now: Duration) {
        self.with(queue, |known| {
            if known.hot.contains(&shard) {
                let since = known.low.get(&shard).map_or(now, |(_, since)| *since);
                known.low.insert(shard, (oldest, since));
            }
        });
    }

    /// Notes a claim that was not full.
    pub(crate) fn short(&self, queue: &QueueName, shard: Shard) {
        self.with(queue, |known| known.low.remove(&shard));
    }

    /// Notes which shards a look without locks found due; every instance begins at another one, so that they part.
    pub(crate) fn heat(&self, queue: &QueueName, due: &[Shard], instance: u64, now: Duration) {
        let count = self.shards.get();
        self.with(queue, |known| {
            (known.looked_at, known.due) = (Some(now), Some(due.to_vec()));
            known.hot.retain(|shard| due.contains(shard));
            known.turn = known.turn.wrapping_add(1);
            let first = (instance % u64::from(count)) as u16;
            let first = first.wrapping_add(known.turn) % count;
            let mut due: Vec<Shard> =
                due.iter().copied().filter(|shard| !known.hot.contains(shard)).collect();
            due.sort_by_key(|shard| (shard.number() + count - first) % count);
            known.hot.extend(due);
        });
    }

    fn with<T>(&self, queue: &QueueName, act: impl FnOnce(&mut Known) -> T) -> T {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if !queues.contains_key(queue) {
            queues.insert(queue.clone(), Known::default());
        }
        act(queues.entry(queue.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_shards_take_turns_and_a_short_one_cools_down() {
        let shards = ShardCount::new(4).unwrap();
        let (known, queue) = (KnownShards::new(shards), QueueName::new("q").unwrap());
        let all: Vec<Shard> = shards.shards().collect();
        known.heat(&queue, &all, 1, Duration::ZERO);
        let first = known.next_hot(&queue, &[]).unwrap();
        known.full(&queue, first);
        let (at, later) = (Duration::from_secs(5), Duration::from_secs(7));
        known.raise(&queue, first, 17, at);
        assert_eq!(known.low(&queue, first, at), 17);
        assert_eq!(known.low(&queue, first, later), 0);
        let second = known.next_hot(&queue, &[]).unwrap();
        assert_ne!(first, second);
        known.short(&queue, second);
        assert_eq!(known.low(&queue, second, at), 0);
        let rest: Vec<_> = std::iter::from_fn(|| known.next_hot(&queue, &[first])).collect();
        assert_eq!(rest.len(), 2);
        assert_eq!(known.next_hot(&queue, &[]), Some(first));
    }

    #[test]
    fn a_look_is_due_every_two_seconds_and_what_it_finds_waits_for_one_turn() {
        let shards = ShardCount::new(4).unwrap();
        let (known, queue) = (KnownShards::new(shards), QueueName::new("q").unwrap());
        let [full, other] = [Shard::from_number(1), Shard::from_number(2)];
        let at = Duration::from_secs;
        assert!(known.wants_look(&queue, at(10)));
        known.heat(&queue, &[full], 1, at(10));
        assert!(!known.wants_look(&queue, at(11)));
        assert_eq!(known.next_hot(&queue, &[]), Some(full));
        assert!(known.wants_look(&queue, at(12)));
        known.heat(&queue, &[full, other], 1, at(12));
        known.full(&queue, full);
        assert_eq!(known.next_hot(&queue, &[]), Some(full));
        known.full(&queue, full);
        assert_eq!(known.next_hot(&queue, &[]), Some(other));
        assert_eq!(known.next_hot(&queue, &[full]), None);
    }

    /// Guard: a claim that comes back full ends no pause | `full`: a shard may always be hot
    #[test]
    fn nothing_is_hot_after_a_look_that_found_nothing_until_one_finds_some() {
        let shards = ShardCount::new(4).unwrap();
        let (known, queue) = (KnownShards::new(shards), QueueName::new("q").unwrap());
        let [hot, other] = [Shard::from_number(1), Shard::from_number(2)];
        known.heat(&queue, &[hot, other], 0, Duration::ZERO);
        assert_eq!(known.next_hot(&queue, &[]), Some(hot));
        known.heat(&queue, &[], 0, Duration::ZERO);
        known.full(&queue, hot);
        assert_eq!(known.next_hot(&queue, &[]), None, "a claim that was under way came back full");
        known.heat(&queue, &[hot], 0, Duration::ZERO);
        assert_eq!((known.next_hot(&queue, &[]), known.next_hot(&queue, &[])), (Some(hot), None));
    }

    #[test]
    fn a_shard_that_a_look_does_not_find_due_is_left_alone_however_full_claims_from_it_were() {
        let shards = ShardCount::new(4).unwrap();
        let (known, queue) = (KnownShards::new(shards), QueueName::new("q").unwrap());
        let [closed, open] = [Shard::from_number(1), Shard::from_number(2)];
        known.heat(&queue, &[closed, open], 1, Duration::ZERO);
        known.full(&queue, closed);
        known.heat(&queue, &[open], 1, Duration::from_secs(2));
        known.full(&queue, closed);
        assert_eq!((known.next_hot(&queue, &[]), known.next_hot(&queue, &[])), (Some(open), None));
        known.heat(&queue, &[closed], 1, Duration::from_secs(4));
        assert_eq!(known.next_hot(&queue, &[]), Some(closed));
    }

    #[test]
    fn instances_begin_apart() {
        let shards = ShardCount::new(8).unwrap();
        let queue = QueueName::new("q").unwrap();
        let all: Vec<Shard> = shards.shards().collect();
        let firsts = [0, 1, 2, 3].map(|instance| {
            let known = KnownShards::new(shards);
            known.heat(&queue, &all, instance, Duration::ZERO);
            known.next_hot(&queue, &[]).unwrap().number()
        });
        assert_eq!(firsts, [1, 2, 3, 4]);
    }
}
