use std::collections::HashMap;

use claimstream_ports::{Step, StepKey};

/// The steps that have been committed.
#[derive(Debug, Default)]
pub(crate) struct Steps(HashMap<StepKey, StepRow>);

/// A step's state, and how often it has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepRow {
    state: u8,
    version: u64,
}

impl Steps {
    pub(crate) fn get(&self, key: &StepKey) -> Option<StepRow> {
        self.0.get(key).copied()
    }

    pub(crate) fn put(&mut self, key: StepKey, row: StepRow) {
        self.0.insert(key, row);
    }
}

impl StepRow {
    pub(crate) fn first(state: u8) -> Self {
        Self { state, version: 1 }
    }

    pub(crate) fn moved_to(self, state: u8) -> Self {
        Self { state, version: self.version + 1 }
    }

    pub(crate) fn is_at(self, version: u64) -> bool {
        self.version == version
    }

    pub(crate) fn step(self, new: bool) -> Step {
        Step { new, state: self.state, version: self.version }
    }
}
