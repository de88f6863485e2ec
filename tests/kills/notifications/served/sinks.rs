use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crate::sink::SinkProvider;

/// Where the providers write what they take: a sink for each process that calls them.
pub(crate) struct Sinks {
    folder: PathBuf,
    by_process: Mutex<HashMap<u32, Arc<SinkProvider>>>,
}

impl Sinks {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, by_process: Mutex::default() }
    }

    /// That of the process with this number.
    pub(crate) fn of(&self, process: u32) -> io::Result<Arc<SinkProvider>> {
        let mut sinks = self.by_process.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sink) = sinks.get(&process) {
            return Ok(Arc::clone(sink));
        }
        let sink = Arc::new(SinkProvider::open(&self.folder, process)?);
        sinks.insert(process, Arc::clone(&sink));
        Ok(sink)
    }
}
