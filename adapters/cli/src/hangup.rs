use std::io;

/// Receives SIGHUP, by which an operator has the configuration read again; elsewhere than on Unix there is none.
pub(crate) struct Hangup {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangup {
    /// Listens from now on; from then on the signal no longer ends the process.
    pub(crate) fn listen() -> io::Result<Self> {
        #[cfg(unix)]
        return Ok(Self { signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())? });
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Ends with the next signal.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending::<()>().await;
    }
}
