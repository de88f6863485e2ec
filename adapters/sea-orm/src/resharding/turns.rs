use std::{
    collections::{HashSet, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use claimstream_domain::Shard;

use crate::strategy::shard_lease::shard_key::ShardKey;

/// The old shards whose heirs are closed, in the order in which they have their turns. It is a matter of this call alone.
pub(super) struct Turns {
    waiting: Mutex<VecDeque<Turn>>,
    left: Mutex<HashSet<ShardKey>>,
}

/// A shard's turn.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) shard: Shard,
    /// How long the shard is kept closed for what is in hand there.
    pub(super) timeout: Duration,
}

impl Turns {
    const FIRST_TIMEOUT: Duration = Duration::from_secs(5);
    /// No handler takes longer, and a relay hands out what it has read ahead in several rounds.
    const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

    pub(super) fn of(shards: Vec<Shard>) -> Self {
        let turn = |shard| Turn { shard, timeout: Self::FIRST_TIMEOUT };
        Self { waiting: Mutex::new(shards.into_iter().map(turn).collect()), left: Mutex::default() }
    }

    /// The next one, if any waits.
    pub(super) fn next(&self) -> Option<Turn> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Has a shard come again after the others, with twice the timeout.
    ///
    /// There is no other bound that would do: if the shard is let go before all that was read ahead has ended, a relay reads ahead
    /// again, and the shard never has its turn.
    pub(super) fn come_again(&self, turn: Turn) {
        let timeout = (turn.timeout * 2).min(Self::MAX_TIMEOUT);
        let again = Turn { timeout, ..turn };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(again);
    }

    /// Whether it is new that a relay that is gone has left messages of a shard.
    pub(super) fn note_left(&self, key: &ShardKey) -> bool {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_comes_again_after_the_others_with_a_longer_timeout_until_slow_handlers_have_ended() {
        let shards = [1, 2].map(Shard::from_number);
        let turns = Turns::of(shards.into());
        let first = turns.next().unwrap();
        turns.come_again(first);
        assert_eq!(turns.next().unwrap().shard, shards[1]);
        let mut again = turns.next().unwrap();
        assert_eq!((again.shard, again.timeout), (shards[0], first.timeout * 2));
        for _ in 0..40 {
            turns.come_again(again);
            again = turns.next().unwrap();
        }
        assert!(again.timeout >= Duration::from_secs(6 * 60 * 60), "{:?}", again.timeout);
    }
}
