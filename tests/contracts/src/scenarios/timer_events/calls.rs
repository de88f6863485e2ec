use std::sync::{Arc, Mutex, PoisonError};

use claimstream_steps::timer_event::DecisionError;
use futures::FutureExt;
use uuid::Uuid;

use crate::{Action, TestDecision};

/// What decisions were called, in order.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<Call>>>);

/// A decision, and the key it was given.
type Call = (&'static str, Option<Uuid>);

impl Calls {
    /// A local decision that works.
    pub(super) fn works(&self, name: &'static str) -> TestDecision {
        self.fails(name, 0)
    }

    /// A local decision that fails so often and works then.
    pub(super) fn fails(&self, name: &'static str, times: usize) -> TestDecision {
        TestDecision { name, is_remote: false, action: self.action(name, times) }
    }

    /// A remote decision that works.
    pub(super) fn calls(&self, name: &'static str) -> TestDecision {
        TestDecision { name, is_remote: true, action: self.action(name, 0) }
    }

    pub(super) fn action(&self, name: &'static str, failing: usize) -> Action {
        let calls = self.clone();
        Arc::new(move |key| {
            let before = calls.note(name, key);
            async move { if before < failing { Err(DecisionError::failed("as scripted")) } else { Ok(()) } }
                .boxed()
        })
    }

    /// Notes a call and tells how many of its name there were.
    pub(super) fn note(&self, name: &'static str, key: Option<Uuid>) -> usize {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((name, key));
        calls.iter().filter(|(called, _)| *called == name).count() - 1
    }

    pub(super) fn made(&self) -> Vec<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(name, _)| *name).collect()
    }

    pub(super) fn keys(&self) -> Vec<Uuid> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(|(_, key)| *key).collect()
    }
}
