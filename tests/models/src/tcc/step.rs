use std::fmt;

use claimstream_domain::tcc::{GlobalEvent, Operation};

/// What a participant tells the coordinator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// The resource is held.
    Tried,
    /// It is not, for reasons of its own.
    Declined,
    /// It is not, because the branch was cancelled before.
    Refused,
    /// It was used.
    Confirmed,
    /// It is not held any more.
    Cancelled,
}

/// Something that happens to the coordinator or a participant.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their display says what they are")]
pub enum Step {
    Sends { operation: Operation, branch: usize },
    Notes { event: GlobalEvent },
    Begins { operation: Operation, branch: usize },
    Commits { operation: Operation, branch: usize, answer: Option<Answer> },
    Declines { branch: usize },
    Dies { operation: Operation, branch: usize },
    Purges { branch: usize },
}

impl Answer {
    /// What a participant tells that has done, now or before, what it was asked for.
    pub(super) fn to(operation: Operation) -> Self {
        match operation {
            Operation::Try => Self::Tried,
            Operation::Confirm => Self::Confirmed,
            Operation::Cancel => Self::Cancelled,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sends { operation, branch } => {
                write!(
                    f,
                    "the coordinator sends {operation} to branch {branch}; it may arrive at any time, and often"
                )
            }
            Self::Notes { event } => write!(f, "the coordinator notes {event:?}"),
            Self::Begins { operation, branch } => {
                write!(f, "{operation} arrives at branch {branch}, which begins a transaction")
            }
            Self::Commits { operation, branch, answer: Some(answer) } => {
                write!(f, "branch {branch} commits its {operation} and answers {answer:?}")
            }
            Self::Commits { operation, branch, answer: None } => {
                write!(f, "branch {branch} answers {operation} with an error")
            }
            Self::Declines { branch } => {
                write!(f, "branch {branch} has reasons of its own to decline, and rolls its Try back")
            }
            Self::Dies { operation, branch } => {
                write!(f, "branch {branch} dies before it commits its {operation}")
            }
            Self::Purges { branch } => write!(f, "branch {branch} purges its marker"),
        }
    }
}
