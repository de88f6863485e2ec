use std::collections::BTreeMap;

use claimstream_domain::{PauseNote, PausedQueue, QueueName, Timestamp};

use crate::clock::between;

/// The queues that are paused, since when, and the notes.
#[derive(Debug, Default)]
pub(crate) struct Pauses(BTreeMap<QueueName, (Timestamp, PauseNote)>);

impl Pauses {
    pub(crate) fn has(&self, queue: &QueueName) -> bool {
        self.0.contains_key(queue)
    }

    /// Whether the queue was not paused before; otherwise the earlier note stays.
    pub(crate) fn add(&mut self, queue: &QueueName, note: &PauseNote, now: Timestamp) -> bool {
        let is_new = !self.has(queue);
        self.0.entry(queue.clone()).or_insert_with(|| (now, note.clone()));
        is_new
    }

    /// Whether the queue was paused.
    pub(crate) fn remove(&mut self, queue: &QueueName) -> bool {
        self.0.remove(queue).is_some()
    }

    pub(crate) fn list(&self, now: Timestamp) -> Vec<PausedQueue> {
        let listed = self.0.iter().map(|(queue, (paused_at, note))| {
            let (queue, note) = (queue.clone(), note.clone());
            PausedQueue { queue, since: between(*paused_at, now), note }
        });
        listed.collect()
    }
}
