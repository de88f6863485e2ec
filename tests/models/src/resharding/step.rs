use std::fmt;

/// Something that a producer, a relay or the command that reshards does.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their display says what they are")]
pub enum Step {
    Learns { producer: usize },
    Writes { producer: usize, message: usize, into_new: bool },
    Commits { message: usize },
    RollsBack { message: usize },
    Cuts,
    Moves { message: usize },
    Opens,
    Reads { relay: usize, message: usize },
    Claims { relay: usize, message: usize },
    IsRefused { relay: usize, message: usize },
    Ends { relay: usize, message: usize },
    GivesBack { relay: usize, message: usize },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shard = |into_new: &bool| if *into_new { "the new shard" } else { "the old shard" };
        match self {
            Self::Learns { producer } => write!(f, "producer {producer} is refused and reads the new count"),
            Self::Writes { producer, message, into_new } => {
                write!(f, "producer {producer} writes message {message} into {}", shard(into_new))
            }
            Self::Commits { message } => write!(f, "the transaction of message {message} commits"),
            Self::RollsBack { message } => write!(f, "the transaction of message {message} is rolled back"),
            Self::Cuts => f.write_str("the count is changed"),
            Self::Moves { message } => write!(f, "message {message} is moved to the new shard"),
            Self::Opens => f.write_str("the new shard is opened"),
            Self::Reads { relay, message } => write!(f, "relay {relay} reads message {message}"),
            Self::Claims { relay, message } => write!(f, "relay {relay} claims message {message}"),
            Self::IsRefused { relay, message } => {
                write!(f, "relay {relay} finds another fence and does not claim message {message}")
            }
            Self::Ends { relay, message } => write!(f, "relay {relay} is done with message {message}"),
            Self::GivesBack { relay, message } => {
                write!(f, "relay {relay} fails, or dies, with message {message}, which is due again")
            }
        }
    }
}
