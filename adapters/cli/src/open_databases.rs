use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use claimstream::PipelineMonitor;

use crate::config::DatabaseName;

/// The databases of a process that has several: which of them could be opened, and how their pipelines fare. Clones show the same.
#[derive(Clone)]
pub(crate) struct OpenDatabases {
    all: Arc<Mutex<BTreeMap<DatabaseName, Monitors>>>,
    /// The queues that the process reads in each.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "the probes alone show it"))]
    pub(crate) queues: Arc<[String]>,
}

/// Each pipeline with the name of its queue; none as long as the database could not be opened.
pub(crate) type Monitors = Vec<(String, PipelineMonitor)>;

impl OpenDatabases {
    /// Of a process that reads these queues in each database.
    pub(crate) fn with(queues: Vec<String>) -> Self {
        Self { all: Arc::default(), queues: queues.into() }
    }

    /// A database that is to be opened.
    pub(crate) fn await_one(&self, name: DatabaseName) {
        self.all().entry(name).or_default();
    }

    /// A database that is open, with its pipelines, unless the process works on it no more: a stop may have come at the moment at which the
    /// database was opened.
    pub(crate) fn enter(&self, name: &DatabaseName, monitors: Monitors) {
        if let Some(known) = self.all().get_mut(name) {
            *known = monitors;
        }
    }

    /// A database that the process works on no more.
    pub(crate) fn leave(&self, name: &DatabaseName) {
        self.all().remove(name);
    }

    pub(crate) fn all(&self) -> MutexGuard<'_, BTreeMap<DatabaseName, Monitors>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
