use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use claimstream_domain::QueueName;

/// Which queues bring a few messages from each of several shards, as the newest claims show.
///
/// There one statement reads all due shards and another writes their leases. Where one shard fills a claim, that shard is
/// claimed from alone: its lease is the only one written, and other instances have the others.
#[derive(Default)]
pub(crate) struct ThinLoad(Mutex<HashMap<QueueName, u8>>);

impl ThinLoad {
    /// So many claims in a row are a thin load.
    const CLAIMS: u8 = 2;

    /// Notes a claim that asked for so many messages, the most that it found in one shard, and whether these were all: a claim
    /// that came back full, or that left something behind, was no thin load. One that found nothing at all says nothing.
    pub(crate) fn claimed(&self, queue: &QueueName, asked: usize, most: usize, is_all: bool) {
        if most == 0 && is_all {
            return;
        }
        let is_thin = is_all && 2 * most < asked;
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match queues.get_mut(queue) {
            Some(claims) => *claims = if is_thin { claims.saturating_add(1) } else { 0 },
            None => drop(queues.insert(queue.clone(), u8::from(is_thin))),
        }
    }

    /// Whether the next claim probably finds a few messages in each shard.
    pub(crate) fn is_expected(&self, queue: &QueueName) -> bool {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.get(queue).is_some_and(|claims| *claims >= Self::CLAIMS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_claims_in_a_row_that_no_shard_filled_by_half_are_a_thin_load() {
        let (load, queue) = (ThinLoad::default(), QueueName::new("q").expect("a name"));
        let claims = |claims: &[(usize, usize)]| {
            claims.iter().for_each(|(asked, most)| load.claimed(&queue, *asked, *most, true));
            load.is_expected(&queue)
        };
        assert!(!claims(&[(100, 1)]));
        assert!(claims(&[(100, 0), (100, 49)]), "a claim that found nothing says nothing");
        assert!(!claims(&[(100, 50)]), "one shard fills half a claim");
        assert!(!claims(&[(1, 1), (8, 1)]), "a claim of one message says that there is one");
        assert!(claims(&[(8, 1)]));
        load.claimed(&queue, 100, 13, false);
        assert!(!claims(&[(100, 1)]), "a claim of many shards that came back full");
        assert!(claims(&[(100, 1)]));
        load.claimed(&queue, 100, 0, false);
        assert!(!claims(&[(100, 1)]), "a claim that met an error");
    }
}
