use std::fmt;

/// Something that happens to a delivery or a consumer.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their display says what they are")]
pub enum Step {
    Receives { consumer: usize, delivery: usize },
    Inserts { consumer: usize, delivery: usize },
    FindsRepeat { consumer: usize, delivery: usize },
    FindsConflict { consumer: usize, delivery: usize },
    CommitsAll { consumer: usize, delivery: usize },
    CommitsRecord { consumer: usize, delivery: usize },
    CommitsEffect { consumer: usize, delivery: usize },
    Unanswered { consumer: usize, delivery: usize },
    Acknowledges { delivery: usize },
    Buries { delivery: usize },
    Dies { consumer: usize },
    Purges { id: usize },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Receives { consumer, delivery } => {
                write!(f, "message {delivery} is delivered to consumer {consumer}")
            }
            Self::Inserts { consumer, delivery } => {
                write!(f, "consumer {consumer} finds no record of message {delivery} and begins its own")
            }
            Self::FindsRepeat { consumer, delivery } => {
                write!(f, "consumer {consumer} finds the record of message {delivery}")
            }
            Self::FindsConflict { consumer, delivery } => {
                write!(
                    f,
                    "consumer {consumer} finds a record of another payload under the id of message {delivery}"
                )
            }
            Self::CommitsAll { consumer, delivery } => {
                write!(f, "consumer {consumer} commits record and effect of message {delivery}")
            }
            Self::CommitsRecord { consumer, delivery } => {
                write!(f, "consumer {consumer} commits the record of message {delivery}")
            }
            Self::CommitsEffect { consumer, delivery } => {
                write!(f, "consumer {consumer} commits the effect of message {delivery}")
            }
            Self::Unanswered { consumer, delivery } => {
                write!(
                    f,
                    "consumer {consumer} commits record and effect of message {delivery}, and does not hear of it"
                )
            }
            Self::Acknowledges { delivery } => write!(f, "message {delivery} is acknowledged"),
            Self::Buries { delivery } => write!(f, "message {delivery} is buried"),
            Self::Dies { consumer } => write!(f, "consumer {consumer} dies"),
            Self::Purges { id } => write!(f, "the record under id {id} is purged"),
        }
    }
}
