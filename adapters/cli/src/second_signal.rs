use std::{io, process::ExitCode};

use claimstream_tokio::shutdown_signal;
use tokio::sync::oneshot;

use crate::Exit;

/// Ends when a signal comes after the one that `first` reports.
pub(crate) async fn second_signal(first: oneshot::Receiver<()>) -> io::Result<ExitCode> {
    if first.await.is_err() {
        // The relay ends by itself.
        std::future::pending::<()>().await;
    }
    shutdown_signal()?.await;
    tracing::warn!("relay stopped at once; messages in hand are delivered again when their leases end");
    Ok(Exit::Interrupted.into())
}
