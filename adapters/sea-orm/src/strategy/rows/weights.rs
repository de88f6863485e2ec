use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use claimstream_domain::{ByteBudget, QueueName};

/// What a payload of each queue weighed in the newest claim that marked messages, so that the next one marks about as many as
/// it may bring.
#[derive(Default)]
pub(crate) struct Weights(Mutex<HashMap<QueueName, usize>>);

impl Weights {
    pub(crate) fn note(&self, queue: &QueueName, bytes: usize, messages: usize) {
        let weight = bytes / messages.max(1);
        let mut weights = self.lock();
        match weights.get_mut(queue) {
            Some(known) => *known = weight,
            None => drop(weights.insert(queue.clone(), weight)),
        }
    }

    /// How many messages of a queue probably fit; at least one.
    pub(crate) fn fitting(&self, queue: &QueueName, budget: ByteBudget) -> u32 {
        let weight = self.lock().get(queue).copied().unwrap_or_default();
        u32::try_from(budget.bytes() / weight.max(1)).unwrap_or(u32::MAX).max(1)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueName, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_heavy_is_claimed_in_small_numbers() {
        let (weights, queue) = (Weights::default(), QueueName::new("q").expect("a name"));
        let budget = ByteBudget::new(100).expect("a budget");
        assert_eq!(weights.fitting(&queue, budget), 100);
        weights.note(&queue, 120, 4);
        assert_eq!(weights.fitting(&queue, budget), 3);
        weights.note(&queue, 500, 1);
        assert_eq!(weights.fitting(&queue, budget), 1);
        weights.note(&queue, 0, 0);
        assert_eq!(weights.fitting(&queue, budget), 100);
    }
}
