use std::{fmt, str::FromStr};

use super::{condition::Condition, judgement::Judgement, provider_answer::ProviderAnswer};
use crate::Invalid;

/// One row of a table of answers: `CONDITION = MEANING`, such as `400:21610 = unsubscribed`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnswerRow {
    condition: Condition,
    judgement: Judgement,
}

impl AnswerRow {
    /// What the row says of an answer, if it is about this one.
    pub fn judge(&self, answer: &ProviderAnswer<'_>) -> Option<Judgement> {
        self.condition.fits(answer).then_some(self.judgement)
    }

    /// What it means.
    pub fn judgement(&self) -> Judgement {
        self.judgement
    }

    /// Which answers it is about, as it is written.
    pub fn condition(&self) -> impl fmt::Display + '_ {
        &self.condition
    }

    pub(super) fn reads_body(&self, code: u16) -> bool {
        self.condition.reads_body(code)
    }
}

impl fmt::Display for AnswerRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.condition, self.judgement)
    }
}

impl FromStr for AnswerRow {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let Some((condition, judgement)) = text.rsplit_once('=') else {
            let why = format!("{:?} is not like 409 = delivered", text.trim());
            return Err(Invalid::Malformed { what: "row of answers", why });
        };
        Ok(Self { condition: Condition::read(condition.trim())?, judgement: judgement.trim().parse()? })
    }
}
