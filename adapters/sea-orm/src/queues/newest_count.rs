use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    database::store_timer::{Stopwatch, StoreTimer},
    queues::observe::Observed,
};

/// The newest count of all queues that this process has made, for checks that people look at again and again.
#[derive(Default)]
pub(crate) struct NewestCount(Mutex<Option<(Stopwatch, Arc<Observed>)>>);

impl NewestCount {
    /// Notes what was counted just now.
    pub(crate) fn note(&self, timer: &StoreTimer, observed: &Arc<Observed>) {
        let newest = (timer.stopwatch(), Arc::clone(observed));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(newest);
    }

    /// Forgets it, because it does not fit what has been changed.
    pub(crate) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The newest count, unless it is older than this.
    pub(crate) fn within(&self, age: Duration) -> Option<Arc<Observed>> {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        newest.as_ref().filter(|(at, _)| at.elapsed() <= age).map(|(_, observed)| Arc::clone(observed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_young_count_is_used_again() {
        let (newest, (timer, hand)) = (NewestCount::default(), StoreTimer::by_hand());
        assert!(newest.within(Duration::MAX).is_none());
        let observed = Arc::new(Observed { queues: vec![], misnamed: vec![], unreadable: [].into() });
        newest.note(&timer, &observed);
        assert!(newest.within(Duration::from_secs(60)).is_some());
        hand.advance(Duration::from_secs(60));
        assert!(newest.within(Duration::from_secs(60)).is_some());
        hand.advance(Duration::from_millis(1));
        assert!(newest.within(Duration::from_secs(60)).is_none());
        newest.note(&timer, &observed);
        newest.forget();
        assert!(newest.within(Duration::from_secs(60)).is_none());
    }
}
