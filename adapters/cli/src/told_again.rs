use std::{io, process::ExitCode};

use claimstream_tokio::shutdown_signal;
use tokio::sync::oneshot;

use crate::Exit;

/// Ends when a signal comes after the one that was told of.
pub(crate) async fn told_again(told: oneshot::Receiver<()>) -> io::Result<ExitCode> {
    if told.await.is_err() {
        // The relay ends by itself.
        std::future::pending::<()>().await;
    }
    shutdown_signal()?.await;
    tracing::warn!("relay stopped at once; messages in hand are delivered again when their leases end");
    Ok(Exit::Interrupted.into())
}
