use std::sync::{Mutex, PoisonError};

use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::{BatchHandler, Verdicts};

/// The verdict on a message that is handled in a batch of its own.
pub(super) async fn alone(handler: &dyn BatchHandler, claimed: &Claimed) -> Verdict {
    let first = First::default();
    handler.handle_batch(std::slice::from_ref(claimed), &first).await;
    let given = first.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    given.unwrap_or_else(|| Verdict::nack("the handler gave no verdict"))
}

/// The first verdict that is given.
#[derive(Default)]
struct First(Mutex<Option<Verdict>>);

impl Verdicts for First {
    fn give(&self, _: usize, verdict: Verdict) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(verdict);
    }
}
