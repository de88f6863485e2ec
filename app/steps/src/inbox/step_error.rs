use std::fmt;

use claimstream_domain::Verdict;
use claimstream_ports::StoreError;

use super::InboxError;
use crate::effect::BrokenStep;
use claimstream::TransactionError;

/// Why an effect was rolled back, and the next state of its message.
#[derive(Debug)]
pub struct StepError(Why);

#[derive(Debug)]
enum Why {
    Store(StoreError),
    Verdict(Verdict),
}

/// Whose failure it is that an effect was rolled back.
#[derive(Debug)]
pub(super) enum Failure {
    /// The store fails, whatever the message is; no attempt is counted.
    OfStore(StoreError),
    /// The message may be the cause.
    OfMessage(Verdict),
}

impl StepError {
    /// Puts the message off for as long as the retry policy says.
    pub fn nack(why: impl fmt::Display) -> Self {
        Self(Why::Verdict(Verdict::nack(why)))
    }

    /// Gives the message up, to be kept with the dead letters.
    pub fn bury(why: impl fmt::Display) -> Self {
        Self(Why::Verdict(Verdict::bury(why)))
    }

    /// Judges a failure, of which `begun` says whether the effect had begun by then.
    ///
    /// The store is the cause only before the effect begins, and only if the error is not about the message's own values: what the
    /// server answers to the effect's statements or to the commit, a trigger of the user may answer to this message alone.
    pub(super) fn failure(self, begun: bool) -> Failure {
        match self.0 {
            Why::Store(error) if !begun && error.is_about_the_store() => Failure::OfStore(error),
            Why::Store(error) => Failure::OfMessage(Verdict::nack(error)),
            Why::Verdict(verdict) => Failure::OfMessage(verdict),
        }
    }
}

impl From<StoreError> for StepError {
    fn from(error: StoreError) -> Self {
        Self(Why::Store(error))
    }
}

impl From<BrokenStep> for StepError {
    fn from(broken: BrokenStep) -> Self {
        Self::bury(broken)
    }
}

impl From<InboxError> for StepError {
    fn from(error: InboxError) -> Self {
        match error {
            InboxError::Store(error) => error.into(),
            never => Self::bury(never),
        }
    }
}

impl TransactionError for StepError {
    fn store_error(&self) -> Option<&StoreError> {
        match &self.0 {
            Why::Store(error) => Some(error),
            Why::Verdict(_) => None,
        }
    }
}
