use std::fmt;

use claimstream_domain::saga::{SagaEntry, SagaState, SagaStepState};

/// Something that happens to a saga, its runners or its accounts.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "their display says what they are")]
pub enum Step {
    Enters { runner: usize, entry: SagaEntry },
    Begins { runner: usize, state: SagaState },
    Takes { runner: usize, step: usize },
    FindsTooLittle { runner: usize, step: usize },
    Undoes { runner: usize, step: usize },
    Marks { runner: usize, step: usize },
    Finds { runner: usize, step: usize, state: SagaStepState },
    Moves { runner: usize, to: SagaState },
    Misses { runner: usize },
    Leaves { runner: usize },
    Reports { runner: usize },
    Dies { runner: usize },
    Unanswered(Box<Self>),
    TopsUp,
    Spends,
}

/// What each step does.
const NAMES: [&str; 4] =
    ["the debit of points", "the debit of balance", "the credit of points", "the credit of balance"];

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |step: &usize| NAMES[*step];
        match self {
            Self::Enters { runner, entry: SagaEntry::Start } => {
                write!(f, "runner {runner} starts the saga")
            }
            Self::Enters { runner, entry: SagaEntry::Check } => {
                write!(f, "the check message is delivered to runner {runner}")
            }
            Self::Enters { runner, entry: SagaEntry::RollBack } => {
                write!(f, "an order to call the saga off is delivered to runner {runner}")
            }
            Self::Begins { runner, state } => write!(f, "runner {runner} writes the saga's row, {state}"),
            Self::Takes { runner, step } => write!(f, "runner {runner} makes {}", name(step)),
            Self::FindsTooLittle { runner, step } => {
                write!(f, "runner {runner} sees that there is too little for {}", name(step))
            }
            Self::Undoes { runner, step } => write!(f, "runner {runner} takes {} back", name(step)),
            Self::Marks { runner, step } => {
                write!(f, "runner {runner} finds nothing to take back of {}", name(step))
            }
            Self::Finds { runner, step, state } => {
                write!(f, "runner {runner} finds {} {state:?}", name(step))
            }
            Self::Moves { runner, to } => write!(f, "runner {runner} moves the saga's row to {to}"),
            Self::Misses { runner } => {
                write!(f, "runner {runner} finds the saga's row changed, and reads it again")
            }
            Self::Leaves { runner } => {
                write!(f, "runner {runner} sees that nothing is left to do, and acknowledges")
            }
            Self::Reports { runner } => write!(f, "runner {runner} reports a bug and stops"),
            Self::Dies { runner } => write!(f, "runner {runner} dies"),
            Self::Unanswered(step) => write!(f, "{step}, and does not hear of it"),
            Self::TopsUp => f.write_str("the payer's balance is topped up"),
            Self::Spends => f.write_str("the payee spends the points"),
        }
    }
}
