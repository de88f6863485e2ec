use std::collections::HashMap;

use claimstream_domain::step::{Step, StepKey};

/// The steps that have been committed.
#[derive(Debug, Default)]
pub(crate) struct Steps(HashMap<StepKey, Step>);

impl Steps {
    pub(crate) fn get(&self, key: &StepKey) -> Option<Step> {
        self.0.get(key).cloned()
    }

    pub(crate) fn put(&mut self, key: StepKey, step: Step) {
        self.0.insert(key, step);
    }
}
