use std::io;

/// Ends when the process is asked to stop: by SIGINT or SIGTERM, elsewhere than on Unix by Ctrl-C.
///
/// The signals are listened to from the call on, so that one which comes before the first poll is not lost. From then
/// on they no longer end the process by themselves, not even when the future has ended or was dropped.
///
/// Fails if the system refuses a handler of a signal.
///
/// # Panics
///
/// Outside a tokio runtime.
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut signals = Signals::listen()?;
    Ok(async move { signals.next().await })
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{process::Command, time::Duration};

    use super::*;

    // Both signals in one test: they reach the whole process, and with it every test that listens.
    #[tokio::test]
    async fn either_signal_ends_it_once_and_also_before_the_first_poll() {
        for name in ["TERM", "INT"] {
            let shutdown = shutdown_signal().unwrap();
            tokio::pin!(shutdown);
            let early = tokio::time::timeout(Duration::from_millis(20), shutdown.as_mut()).await;
            assert!(early.is_err(), "ended without a signal");
            let unpolled = shutdown_signal().unwrap();
            send(name);
            shutdown.await;
            unpolled.await;
        }
    }

    fn send(name: &str) {
        let pid = std::process::id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "SIG{name} was not sent");
    }
}
