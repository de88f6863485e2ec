//! What providers answer, and what follows.

mod condition;
mod judgement;
mod provider_answer;
mod recorded;
mod row;
mod stage;
mod table;

pub use judgement::{Fault, Judgement};
pub use provider_answer::ProviderAnswer;
pub use recorded::{Acceptance, Answer, AnswerClass};
pub use row::AnswerRow;
pub use stage::SmtpStage;
pub use table::AnswerTable;
