/// A value that was refused, with the sentence a person needs to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Something that must have content has none.
    #[error("{what} is empty")]
    Empty {
        /// The value's name.
        what: &'static str,
    },
    /// Something is longer than its column or packet allows.
    #[error("{what} has {len} bytes, at most {max} are allowed")]
    TooLong {
        /// The value's name.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The longest that is allowed, in bytes.
        max: usize,
    },
    /// A character that would be lost or misread on the way.
    #[error("{what} contains {found:?}; {allowed}")]
    Character {
        /// The value's name.
        what: &'static str,
        /// The first offending character.
        found: char,
        /// What may be used instead.
        allowed: &'static str,
    },
    /// A number or a time outside its range.
    #[error("{what} is {given}, it must be {allowed}")]
    OutOfRange {
        /// The value's name.
        what: &'static str,
        /// The value that was given.
        given: String,
        /// What would be taken.
        allowed: String,
    },
    /// Text that does not have the form it must have.
    #[error("{what} is not valid: {why}")]
    Malformed {
        /// The value's name.
        what: &'static str,
        /// The reason why it is refused.
        why: String,
    },
    /// A change of something that others have changed since it was read.
    #[error("{what} have changed since they were read; read them again")]
    Changed {
        /// The name of what has changed.
        what: &'static str,
    },
    /// Two settings that exclude each other, or one that is missing.
    #[error("{0}")]
    Contradiction(String),
}

impl Invalid {
    /// Refuses text that is empty or longer than `max` bytes.
    pub(crate) fn unless_length(what: &'static str, text: &str, max: usize) -> Result<(), Self> {
        if text.is_empty() {
            return Err(Self::Empty { what });
        }
        if text.len() > max {
            return Err(Self::TooLong { what, len: text.len(), max });
        }
        Ok(())
    }

    /// Refuses text that is empty, longer than `max` bytes, or has a control character.
    pub(crate) fn unless_one_line(what: &'static str, text: &str, max: usize) -> Result<(), Self> {
        Self::unless_length(what, text, max)?;
        match text.chars().find(|c| c.is_control()) {
            Some(found) => Err(Self::Character { what, found, allowed: "write it on one line" }),
            None => Ok(()),
        }
    }

    /// Refuses more of something than is allowed; `unit` follows the number.
    pub(crate) fn at_most(what: &'static str, given: usize, most: usize, unit: &str) -> Result<(), Self> {
        match given > most {
            true => Err(Self::OutOfRange {
                what,
                given: given.to_string(),
                allowed: format!("at most {most}{unit}"),
            }),
            false => Ok(()),
        }
    }
}
