use std::fmt;

use super::{provider_answer::ProviderAnswer, stage::SmtpStage};
use crate::Invalid;

/// Which answers a row is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Condition {
    /// Stages of SMTP; any if there is none.
    stages: Vec<SmtpStage>,
    /// Codes; any if there is none.
    codes: Vec<Code>,
    /// Phrases, of which the text must hold one, each between blanks; none is asked for if there is none.
    phrases: Vec<String>,
}

/// A code, such as `550`, `5xx` or `550:5.1.1`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Code {
    /// Three characters: digits, or `x` for any digit.
    pattern: String,
    /// What must stand with the code: itself, or what it begins with before `*`; `-` is nothing.
    detail: Option<String>,
}

impl Condition {
    pub(super) fn fits(&self, answer: &ProviderAnswer<'_>) -> bool {
        let is_stage =
            self.stages.is_empty() || answer.stage.is_some_and(|stage| self.stages.contains(&stage));
        let is_code = self.codes.is_empty() || self.codes.iter().any(|code| code.fits(answer));
        is_stage && is_code && self.is_in(answer.text)
    }

    /// Whether more than the code decides.
    pub(super) fn reads_body(&self, code: u16) -> bool {
        let mut codes = self.codes.iter().filter(|one| one.fits_number(code));
        match self.phrases.is_empty() {
            true => codes.any(|one| one.detail.is_some()),
            false => self.codes.is_empty() || codes.next().is_some(),
        }
    }

    fn is_in(&self, text: &str) -> bool {
        self.phrases.is_empty() || {
            let words = words(text);
            self.phrases.iter().any(|phrase| words.contains(phrase.as_str()))
        }
    }

    /// Reads `rcpt end 5xx:5.1.1 ~user unknown|no such user`.
    pub(super) fn read(text: &str) -> Result<Self, Invalid> {
        let (head, phrases) = match text.split_once('~') {
            Some((head, phrases)) => (head, phrases.split('|').map(words).collect()),
            None => (text, Vec::new()),
        };
        let mut condition = Self { phrases, ..Self::default() };
        for word in head.split_whitespace() {
            match word.starts_with(|c: char| c.is_ascii_digit() || c == 'x') {
                true => condition.codes.push(Code::read(word)?),
                false => condition.stages.push(word.parse()?),
            }
        }
        let is_empty = condition == Self::default() || condition.phrases.iter().any(|one| one == " ");
        if is_empty { Err(malformed(text)) } else { Ok(condition) }
    }
}

impl Code {
    fn fits(&self, answer: &ProviderAnswer<'_>) -> bool {
        let fits_detail = match (self.detail.as_deref(), answer.detail) {
            (None, _) | (Some("-"), None) => true,
            (Some(_), None) => false,
            (Some(wanted), Some(detail)) => match wanted.strip_suffix('*') {
                Some(begin) => detail.starts_with(begin),
                None => detail == wanted,
            },
        };
        fits_detail && self.fits_number(answer.code)
    }

    fn fits_number(&self, code: u16) -> bool {
        let digits = format!("{code:03}");
        digits.len() == self.pattern.len()
            && digits
                .chars()
                .zip(self.pattern.chars())
                .all(|(digit, wanted)| wanted == 'x' || wanted == digit)
    }

    fn read(text: &str) -> Result<Self, Invalid> {
        let (pattern, detail) = match text.split_once(':') {
            Some((pattern, detail)) => (pattern, Some(detail)),
            None => (text, None),
        };
        let is_code = pattern == "xxx"
            || pattern.len() == 3
                && pattern.starts_with(|c: char| ('1'..='5').contains(&c))
                && pattern.chars().all(|c| c.is_ascii_digit() || c == 'x');
        match is_code && detail != Some("") {
            true => Ok(Self { pattern: pattern.to_owned(), detail: detail.map(str::to_owned) }),
            false => Err(malformed(text)),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages = self.stages.iter().map(|stage| stage.name().to_owned());
        let codes = self.codes.iter().map(|code| match &code.detail {
            Some(detail) => format!("{}:{detail}", code.pattern),
            None => code.pattern.clone(),
        });
        let phrases: Vec<&str> = self.phrases.iter().map(|phrase| phrase.trim()).collect();
        let phrases = (!phrases.is_empty()).then(|| format!("~{}", phrases.join("|")));
        let all: Vec<String> = stages.chain(codes).chain(phrases).collect();
        f.write_str(&all.join(" "))
    }
}

fn malformed(text: &str) -> Invalid {
    Invalid::Malformed {
        what: "row of answers",
        why: format!("{text:?}; write a code such as 409, 5xx, 400:21610 or rcpt 550:5.1.1"),
    }
}

/// The words of a text in lower case, a blank before and behind each.
fn words(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |all, word| all + word + " ")
}
