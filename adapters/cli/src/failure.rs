use std::{io, process::ExitCode};

use claimstream::RelayError;
use claimstream_ports::StoreError;

use crate::{Exit, OpenError, config::ConfigError};

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The arguments do not go together, or need another one.
    #[error("{0}")]
    Usage(String),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The outbox cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The outbox was opened and then failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A pipeline cannot work.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// There is no such thing, or it cannot be changed any more.
    #[error("{0}")]
    Refused(String),
    /// The standard output takes nothing more.
    #[error("the standard output cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// Whether the reader of our output has closed it, as `head` does: that is no error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        let exit = match self {
            _ if self.is_closed_pipe() => Exit::Done,
            Self::Usage(_) | Self::Config(_) | Self::Open(OpenError::Config(_) | OpenError::NoSecret(_)) => {
                Exit::NotUnderstood
            }
            Self::Open(_) | Self::Store(_) | Self::Relay(_) | Self::Refused(_) | Self::Output(_) => {
                Exit::NotDone
            }
        };
        exit.into()
    }
}
