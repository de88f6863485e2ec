use std::fmt;

use claimstream_domain::{Claimed, Reason, Verdict};
use claimstream_ports::StoreError;

use super::{Consumer, InboxError};
use crate::effect::BrokenStep;
use claimstream::TransactionError;

/// Why an effect was not had, and the next state of its message.
#[derive(Debug)]
pub struct Undone(Why);

#[derive(Debug)]
enum Why {
    Store(StoreError),
    Verdict(Verdict),
}

/// Why an effect of a delivery was not had, and what that asks for.
#[derive(Debug)]
pub(super) enum Failure {
    /// The store is in trouble, whatever the message is.
    OfStore(StoreError),
    /// It may be the message's own; another attempt may succeed.
    Passing(Reason),
    /// It never succeeds.
    Final(Reason),
}

impl Undone {
    /// Puts the message off for as long as the retry policy says.
    pub fn nack(why: impl fmt::Display) -> Self {
        Self(Why::Verdict(Verdict::nack(why)))
    }

    /// Gives the message up, to be kept with the dead letters.
    pub fn bury(why: impl fmt::Display) -> Self {
        Self(Why::Verdict(Verdict::bury(why)))
    }

    pub(super) fn failure(self) -> Failure {
        match self.0 {
            Why::Store(error) if error.is_about_the_store() => Failure::OfStore(error),
            Why::Store(error) => Failure::Passing(Reason::new(error)),
            Why::Verdict(Verdict::Bury { reason }) => Failure::Final(reason),
            Why::Verdict(Verdict::Nack { reason, .. } | Verdict::Postpone { reason, .. }) => {
                Failure::Passing(reason)
            }
            Why::Verdict(Verdict::Ack { .. } | Verdict::Release) => {
                Failure::Passing(Reason::new("the effect was put off"))
            }
        }
    }

    pub(super) fn verdict(self) -> Verdict {
        match self.0 {
            Why::Store(error) => Verdict::nack(error),
            Why::Verdict(verdict) => verdict,
        }
    }

    /// The verdict on a message whose effect had not begun: what the store said then is not the message's failure, unless it is
    /// about the message's own values, and no attempt is counted for it.
    pub(super) fn verdict_unbegun(self, claimed: &Claimed, consumer: &Consumer) -> Verdict {
        match &self.0 {
            Why::Store(error) if error.is_about_the_store() => {
                tracing::warn!(message_id = %claimed.message.id, %consumer, %error, "message was given back uncounted, because its effect could not begin");
                Verdict::Release
            }
            _ => self.verdict(),
        }
    }
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Self {
        Self(Why::Store(error))
    }
}

impl From<BrokenStep> for Undone {
    fn from(broken: BrokenStep) -> Self {
        Self::bury(broken)
    }
}

impl From<InboxError> for Undone {
    fn from(error: InboxError) -> Self {
        match error {
            InboxError::Store(error) => error.into(),
            never => Self::bury(never),
        }
    }
}

impl TransactionError for Undone {
    fn store_error(&self) -> Option<&StoreError> {
        match &self.0 {
            Why::Store(error) => Some(error),
            Why::Verdict(_) => None,
        }
    }
}
