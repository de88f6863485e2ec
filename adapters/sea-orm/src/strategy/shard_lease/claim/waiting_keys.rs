use std::collections::HashMap;

use claimstream_domain::OrderingKey;

/// The keys of due messages that wait, and were skipped in search of one that does not: all other messages of these keys wait
/// behind them.
#[derive(Default)]
pub(crate) struct WaitingKeys(HashMap<OrderingKey, usize>);

impl WaitingKeys {
    /// How many keys a statement names, at most.
    const NAMED: usize = 500;

    /// Notes one more message of a key.
    pub(crate) fn note(&mut self, key: OrderingKey) {
        *self.0.entry(key).or_default() += 1;
    }

    /// Whether a message of this key waits; it is noted then.
    pub(crate) fn blocks(&mut self, key: Option<&OrderingKey>) -> bool {
        let waiting = key.and_then(|key| self.0.get_mut(key));
        waiting.map(|count| *count += 1).is_some()
    }

    /// The keys that most messages wait behind, for the next statement to leave out; the others are left out when they
    /// have been read, so that no number of keys is too many for a statement.
    pub(crate) fn most_common(&self) -> Vec<&str> {
        let mut keys: Vec<(&OrderingKey, &usize)> = self.0.iter().collect();
        if keys.len() > Self::NAMED {
            keys.select_nth_unstable_by(Self::NAMED, |(_, one), (_, other)| other.cmp(one));
            keys.truncate(Self::NAMED);
        }
        keys.into_iter().map(|(key, _)| key.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> OrderingKey {
        OrderingKey::new(&format!("key {n}")).expect("a key")
    }

    /// Guard: a statement names few keys | `most_common`: all of them
    #[test]
    fn many_keys_are_blocked_and_few_are_named() {
        let mut waiting = WaitingKeys::default();
        (0..40_000).for_each(|n| waiting.note(key(n)));
        (0..3).for_each(|_| assert!(waiting.blocks(Some(&key(33_333)))));
        assert!(!waiting.blocks(Some(&key(40_000))) && !waiting.blocks(None));
        let named = waiting.most_common();
        assert_eq!(named.len(), WaitingKeys::NAMED);
        assert!(named.contains(&"key 33333"), "the one with the most behind it");
    }
}
