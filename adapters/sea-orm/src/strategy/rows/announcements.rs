use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::InstanceId;

/// When the instances of this process were last noted in the database.
///
/// Again and again, because the sweep forgets those that have not been seen for a day.
#[derive(Default)]
pub(crate) struct Announcements(Mutex<HashMap<InstanceId, Duration>>);

impl Announcements {
    const LAST: Duration = Duration::from_secs(3600);

    /// Whether it is time to note an instance; of many callers, one gets `true`. `now` is monotonic.
    pub(crate) fn are_due(&self, instance: InstanceId, now: Duration) -> bool {
        let mut noted = self.noted();
        let due = noted.get(&instance).is_none_or(|at| now.saturating_sub(*at) >= Self::LAST);
        if due {
            noted.insert(instance, now);
        }
        due
    }

    /// The note was not written after all.
    pub(crate) fn failed(&self, instance: InstanceId) {
        self.noted().remove(&instance);
    }

    fn noted(&self) -> MutexGuard<'_, HashMap<InstanceId, Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
