use std::fmt;

use super::Wish;

/// Something that happens to the lease or to a process.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their display says what they are")]
pub enum Step {
    TimePasses,
    FallsBack,
    IsReleased,
    TakesOver { process: usize },
    Loses { process: usize },
    Reads { process: usize, message: usize },
    Takes { process: usize, message: usize, attempt: u8 },
    TakesNothing { process: usize, message: usize },
    TakeUnanswered { process: usize, message: usize },
    TakeFails { process: usize, message: usize },
    Renews { process: usize, hand: usize },
    Begins { process: usize, hand: usize },
    Decides { process: usize, hand: usize, wish: Wish },
    Drops { process: usize, hand: usize },
    Settles { process: usize, message: usize, accepted: bool },
    SettlementUnanswered { process: usize, message: usize },
    GivesBackInTheBooksAlone { process: usize, message: usize },
    Dies { process: usize },
    DiesAfterSending { process: usize, message: usize },
    ArrivesLate { message: usize, accepted: bool },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = |accepted: &bool| if *accepted { "accepted" } else { "refused" };
        match self {
            Self::TimePasses => write!(f, "leases and claims run out"),
            Self::FallsBack => write!(f, "the store loses its last write"),
            Self::IsReleased => write!(f, "an operator releases the lease"),
            Self::TakesOver { process } => write!(f, "process {process} takes the shard over"),
            Self::Loses { process } => write!(f, "process {process} reads that the shard was in other hands"),
            Self::Reads { process, message } => write!(f, "process {process} reads message {message}"),
            Self::Takes { process, message, attempt } => {
                write!(f, "process {process} takes message {message}, attempt {attempt}")
            }
            Self::TakesNothing { process, message } => {
                write!(f, "process {process} does not get message {message}")
            }
            Self::TakeUnanswered { process, message } => {
                write!(f, "process {process} writes that it takes message {message}; the answer is lost")
            }
            Self::TakeFails { process, message } => {
                write!(f, "process {process} fails to write that it takes message {message}")
            }
            Self::Renews { process, hand } => write!(f, "process {process} renews what is in hand {hand}"),
            Self::Begins { process, hand } => write!(f, "process {process} begins, with hand {hand}"),
            Self::Decides { process, hand, wish } => {
                write!(f, "process {process} decides, with hand {hand}: {wish:?}")
            }
            Self::Drops { process, hand } => write!(f, "process {process} drops what is in hand {hand}"),
            Self::Settles { process, message, accepted } => {
                write!(f, "process {process}'s settlement of message {message} is {}", outcome(accepted))
            }
            Self::SettlementUnanswered { process, message } => {
                write!(
                    f,
                    "process {process}'s settlement of message {message} is accepted; the answer is lost"
                )
            }
            Self::GivesBackInTheBooksAlone { process, message } => {
                write!(f, "process {process} strikes message {message} from its books alone")
            }
            Self::Dies { process } => write!(f, "process {process} dies and is started again"),
            Self::DiesAfterSending { process, message } => {
                write!(f, "process {process} dies; its settlement of message {message} is on its way")
            }
            Self::ArrivesLate { message, accepted } => {
                write!(
                    f,
                    "a dead process's settlement of message {message} arrives and is {}",
                    outcome(accepted)
                )
            }
        }
    }
}
