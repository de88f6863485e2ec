use std::fmt;

use super::End;

/// Something that happens to a run or to a process.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their display says what they are")]
pub enum Step {
    TimePasses,
    RetryIsDue { message: usize },
    TakesOver { process: usize },
    Loses { process: usize },
    Claims { process: usize, count: usize },
    Hears { process: usize },
    Begins { process: usize, message: usize },
    Ends { process: usize, message: usize, end: End },
    GivesBack { process: usize },
    Settles { process: usize, message: usize, end: End, accepted: bool },
    Dies { process: usize },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimePasses => write!(f, "the lease and all claims run out"),
            Self::RetryIsDue { message } => write!(f, "message {message} may be tried again"),
            Self::TakesOver { process } => write!(f, "process {process} takes the shard over"),
            Self::Loses { process } => write!(f, "process {process} reads that the shard was in other hands"),
            Self::Claims { process, count } => write!(f, "process {process} claims {count} messages"),
            Self::Hears { process } => write!(f, "process {process} gets the answer to its claim"),
            Self::Begins { process, message } => write!(f, "process {process} begins with message {message}"),
            Self::Ends { process, message, end } => {
                write!(f, "process {process} ends message {message}: {end:?}")
            }
            Self::GivesBack { process } => write!(f, "process {process} gives back what it keeps back"),
            Self::Settles { process, message, end, accepted } => {
                let outcome = if *accepted { "accepted" } else { "refused" };
                write!(f, "{end:?} of message {message} by process {process} is {outcome}")
            }
            Self::Dies { process } => write!(f, "process {process} dies and is started again"),
        }
    }
}
