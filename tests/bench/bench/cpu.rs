use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_testbed::ServerProcess;
use tokio::task::JoinHandle;

use crate::job::unix_now;

/// The processor time of a process while it is watched, moment by moment.
///
/// A round ends when the last instance has found nothing more to do. Without the moments, what the server takes to answer
/// those last questions could not be separated from what the messages take.
pub(crate) struct Cpu {
    /// Moments in seconds since 1970, and the processor time until then.
    seen: Arc<Mutex<Vec<(f64, f64)>>>,
    watching: JoinHandle<()>,
}

impl Cpu {
    const EVERY: Duration = Duration::from_millis(10);

    /// Watches a process until this value is dropped.
    pub(crate) fn watch(process: ServerProcess) -> Self {
        let look = move || (unix_now(), process.cpu_seconds());
        let seen = Arc::new(Mutex::new(vec![look()]));
        let watching = tokio::spawn({
            let seen = seen.clone();
            async move {
                loop {
                    tokio::time::sleep(Self::EVERY).await;
                    seen.lock().expect("no panic").push(look());
                }
            }
        });
        Self { seen, watching }
    }

    /// The processor time between two moments.
    pub(crate) fn between(&self, begin: f64, end: f64) -> f64 {
        let seen = self.seen.lock().expect("no panic");
        at(&seen, end) - at(&seen, begin)
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// The processor time at a moment: between two looks, in proportion.
fn at(seen: &[(f64, f64)], moment: f64) -> f64 {
    let next = seen.partition_point(|(when, _)| *when < moment);
    match (next.checked_sub(1).and_then(|before| seen.get(before)), seen.get(next)) {
        (Some(before), Some(after)) => {
            before.1 + (after.1 - before.1) * (moment - before.0) / (after.0 - before.0)
        }
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_between_two_looks_has_its_share() {
        let seen = [(10.0, 1.0), (11.0, 3.0), (12.0, 3.0)];
        assert_eq!([9.0, 10.5, 11.5, 13.0].map(|moment| at(&seen, moment)), [1.0, 2.0, 3.0, 3.0]);
        assert_eq!(at(&[], 1.0), 0.0);
    }
}
