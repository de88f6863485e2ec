use std::io::Read;

use super::entry::UserEntry;
use crate::lines::{InputLine, Lines};

/// A user a line, as JSON.
pub(crate) struct JsonLines(Lines<Box<dyn Read>>);

impl JsonLines {
    pub(super) fn new(from: Box<dyn Read>) -> Self {
        Self(Lines::new(from))
    }

    pub(super) fn next(&mut self) -> Result<Option<UserEntry>, String> {
        loop {
            let next = self.0.next().map_err(|e| e.to_string())?;
            let Some((number, line)) = next else { return Ok(None) };
            let user = match line {
                InputLine::Text(text) if text.trim_ascii().is_empty() => continue,
                InputLine::Text(text) => serde_json::from_slice(&text).map_err(|e| fault_of(&e)),
                InputLine::TooLong => Err(format!("longer than {} bytes", Lines::<Box<dyn Read>>::LONGEST)),
            };
            return Ok(Some((number, user)));
        }
    }
}

/// The fault of a line and its column; the parser's own line number is always 1 and is left out.
fn fault_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why);
    format!("column {}: {why}", error.column())
}
