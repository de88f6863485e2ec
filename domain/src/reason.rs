use std::fmt;

/// Why a message was put off or buried: one line of at most 500 characters, cut rather than refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reason(Box<str>);

impl Reason {
    /// The longest reason, in characters.
    pub const MAX_CHARS: usize = 500;

    /// Keeps the first 500 characters of what `why` displays; control characters become blanks.
    pub fn new(why: impl fmt::Display) -> Self {
        let text = why.to_string();
        let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        Self(line.take(Self::MAX_CHARS).collect::<String>().into())
    }

    /// The reason as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_long_reasons_at_a_character() {
        let reason = Reason::new("ü".repeat(600));
        assert_eq!(reason.as_str().chars().count(), 500);
        assert_eq!(Reason::new("a\nb\u{0}c ").as_str(), "a b c ");
        assert_eq!(Reason::new(&reason), reason);
    }
}
