use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use claimstream_domain::notification::Priority;
use futures::channel::oneshot;

/// A number of places, taken by the most urgent first and then in the order in which they are asked for.
#[derive(Debug)]
pub(super) struct Slots(Mutex<SlotState>);

#[derive(Debug)]
struct SlotState {
    free: u32,
    /// Those of each priority, the most urgent first.
    waiting: [VecDeque<oneshot::Sender<Slot>>; Priority::ALL.len()],
}

/// One place; it is free again when it is dropped.
#[derive(Debug)]
pub(super) struct Slot(Option<Arc<Slots>>);

impl Slots {
    pub(super) fn new(places: u32) -> Arc<Self> {
        Arc::new(Self(Mutex::new(SlotState { free: places, waiting: Default::default() })))
    }

    /// Whether a place is free at this moment.
    pub(super) fn has_free(&self) -> bool {
        self.state().free > 0
    }

    /// Waits for a place. A caller that goes away while it waits takes none.
    pub(super) async fn take(self: &Arc<Self>, priority: Priority) -> Slot {
        let waiting = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Slot(Some(Arc::clone(self)));
            }
            // Those that went away are not counted for ever.
            let waiting = &mut state.waiting[priority as usize];
            waiting.retain(|waits| !waits.is_canceled());
            let (give, given) = oneshot::channel();
            waiting.push_back(give);
            given
        };
        match waiting.await {
            Ok(slot) => slot,
            // Only a slot that is handed over ends a wait, for the slots themselves outlive it.
            Err(oneshot::Canceled) => Slot(None),
        }
    }

    /// Hands a place to the first that still waits, or keeps it.
    fn give_back(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state();
                match state.waiting.iter_mut().find_map(VecDeque::pop_front) {
                    Some(next) => next,
                    None => {
                        state.free += 1;
                        return;
                    }
                }
            };
            match next.send(Slot(Some(Arc::clone(self)))) {
                Ok(()) => return,
                // It has gone away; its slot is not to be given back twice.
                Err(mut slot) => drop(slot.0.take()),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::tests::{finish, step};

    #[test]
    fn places_are_taken_in_order_and_given_on() {
        let slots = Slots::new(1);
        let first = finish(slots.take(Priority::Normal));
        let (mut second, mut third) =
            (pin!(slots.take(Priority::Normal)), pin!(slots.take(Priority::Normal)));
        assert!(step(second.as_mut()).is_none() && step(third.as_mut()).is_none());
        drop(first);
        assert!(step(third.as_mut()).is_none());
        let held = step(second.as_mut()).expect("the first that waits");
        drop(held);
        assert!(step(third.as_mut()).is_some());
    }

    /// Guard: a free slot goes to the next waiter that is still there | `give_back`: gives up at the first
    /// that is gone
    #[test]
    fn a_waiter_that_goes_away_takes_no_place_with_it() {
        let slots = Slots::new(1);
        let held = finish(slots.take(Priority::Normal));
        {
            let mut waits = pin!(slots.take(Priority::Normal));
            assert!(step(waits.as_mut()).is_none());
            drop(held);
            // It was given the place and never looked.
        }
        let again = finish(slots.take(Priority::Normal));
        let mut waits = Box::pin(slots.take(Priority::Normal));
        assert!(step(waits.as_mut()).is_none());
        drop(waits);
        drop(again);
        finish(slots.take(Priority::Normal));
    }

    /// Guard: a free slot goes to the most urgent waiter | `give_back`: to the least urgent
    #[test]
    fn a_place_goes_to_the_most_urgent_that_waits() {
        let slots = Slots::new(1);
        let held = finish(slots.take(Priority::Low));
        let (mut low, mut high) = (pin!(slots.take(Priority::Low)), pin!(slots.take(Priority::High)));
        assert!(step(low.as_mut()).is_none() && step(high.as_mut()).is_none());
        drop(held);
        assert!(step(low.as_mut()).is_none());
        drop(step(high.as_mut()).expect("the most urgent"));
        assert!(step(low.as_mut()).is_some());
    }
}
