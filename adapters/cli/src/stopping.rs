use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Whether the process has been asked to stop; clones show the same.
#[derive(Clone, Default)]
pub(crate) struct Stopping(Arc<AtomicBool>);

impl Stopping {
    #[cfg(feature = "http")]
    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// From now on the process is not ready.
    pub(crate) fn begin(&self) {
        self.0.store(true, Relaxed);
    }
}
