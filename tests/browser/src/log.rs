use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tracing::Metadata;
use tracing_subscriber::{
    Layer, Registry, filter::filter_fn, fmt::MakeWriter, layer::SubscriberExt, util::SubscriberInitExt,
};

/// Everything that this process logs, at every level, except what the client of the browser says about its keys.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Begins to keep the log of this process.
    pub fn keep() -> Self {
        let log = Self::default();
        let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(log.clone());
        let ours = |it: &Metadata<'_>| {
            !["thirtyfour", "hyper", "reqwest"].iter().any(|name| it.target().starts_with(name))
        };
        Registry::default().with(lines.with_filter(filter_fn(ours))).init();
        log
    }

    /// Whether it has this text anywhere.
    pub fn has(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.lock()).contains(text)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
