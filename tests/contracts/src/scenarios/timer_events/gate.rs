use std::sync::Arc;

use futures::FutureExt;
use tokio::sync::Notify;

use super::calls::Calls;
use crate::{Action, TestDecision};

/// Holds a remote decision in the middle.
#[derive(Clone, Default)]
pub(super) struct Gate {
    pub(super) entered: Arc<Notify>,
    pub(super) open: Arc<Notify>,
    pub(super) calls: Calls,
}

impl Gate {
    pub(super) fn guards(&self, name: &'static str) -> TestDecision {
        let gate = self.clone();
        let action: Action = Arc::new(move |key| {
            let gate = gate.clone();
            async move {
                gate.calls.note(name, key);
                gate.entered.notify_one();
                gate.open.notified().await;
                Ok(())
            }
            .boxed()
        });
        TestDecision { name, is_remote: true, action }
    }
}
