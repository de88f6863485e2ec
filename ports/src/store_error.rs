use std::{error::Error, fmt};

/// A store that could not do what it was asked: what it was doing, the kind of trouble, and the source.
///
/// Callers branch on [`kind`](Self::kind) and never on the text. The text holds all there is to say, so
/// [`source`](Error::source) answers nothing: whatever prints a chain of errors prints the source once. Programs that want to
/// look at the source itself ask [`get_ref`](Self::get_ref).
///
/// Its `Debug` is the same text, because that is what a failed `unwrap` prints, and a `main` that returns it.
pub struct StoreError {
    kind: StoreErrorKind,
    operation: &'static str,
    inner: Box<dyn Error + Send + Sync>,
    advice: Option<&'static str>,
}

/// What kind of trouble a store is in, and so what the caller should do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StoreErrorKind {
    /// Passes by itself and nothing was changed: a deadlock, a lock wait, a busy file. Do it again at once, a transaction from
    /// its beginning.
    Transient,
    /// The store cannot be reached or does not take writes now, or has said something unknown; whether the last
    /// call took effect may be unknown. Do it again later, under the same ids.
    Unavailable,
    /// A setting is wrong: the URL, the user, the password, the database's name, a right, TLS, or a table that was not made.
    /// Change what the text names.
    Misconfigured,
    /// The store cannot do this at all, now or later. Do what the text names instead.
    Unsupported,
    /// Stored or given data is invalid. Leave this one out; others may be taken.
    Corrupt,
    /// Something with this identity exists already, or has changed meanwhile. Read it and compare.
    Conflict,
}

impl StoreError {
    /// An error met during `operation`, a verb such as `claim`.
    pub fn new(
        kind: StoreErrorKind,
        operation: &'static str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { kind, operation, inner: source.into(), advice: None }
    }

    /// The same error with the way out at the end of its text, such as the setting that would work.
    pub fn with_advice(self, advice: &'static str) -> Self {
        Self { advice: Some(advice), ..self }
    }

    /// What kind of trouble it is.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// What the store was doing.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// What the store met, as the driver or the operating system said it.
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.inner
    }

    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Transient | StoreErrorKind::Unavailable)
    }

    /// Whether the store itself is in trouble, and not the values that it was given or has kept: every kind but
    /// [`Corrupt`](StoreErrorKind::Corrupt) and [`Conflict`](StoreErrorKind::Conflict). Any other call would have met it too.
    pub fn is_about_the_store(&self) -> bool {
        !matches!(self.kind, StoreErrorKind::Corrupt | StoreErrorKind::Conflict)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.operation, self.kind, self.inner)?;
        self.advice.map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

impl fmt::Debug for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for StoreError {}

impl StoreErrorKind {
    /// Every kind there is.
    pub const ALL: [Self; 6] = [
        Self::Transient,
        Self::Unavailable,
        Self::Misconfigured,
        Self::Unsupported,
        Self::Corrupt,
        Self::Conflict,
    ];

    /// The kind in one word, as a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Unavailable => "unavailable",
            Self::Misconfigured => "misconfigured",
            Self::Unsupported => "unsupported",
            Self::Corrupt => "corrupt",
            Self::Conflict => "conflict",
        }
    }
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_done_the_kind_and_the_source() {
        let error = StoreError::new(StoreErrorKind::Transient, "claim", "deadlock found");
        assert_eq!(error.to_string(), "claim: transient: deadlock found");
        assert!(error.is_retryable() && error.source().is_none());
        assert_eq!(error.get_ref().to_string(), "deadlock found");
        assert_eq!(error.with_advice("try again").to_string(), "claim: transient: deadlock found; try again");
    }

    #[test]
    fn an_unwrap_shows_what_was_done_the_kind_and_the_source_once() {
        let source = std::io::Error::other("the disk is full");
        let error =
            StoreError::new(StoreErrorKind::Unavailable, "claim", source).with_advice("make room on it");
        let text = "claim: unavailable: the disk is full; make room on it";
        assert_eq!(format!("{error:?}"), text);
        assert_eq!(format!("{error:#?}"), text);
        let main: Box<dyn Error> = Box::new(error);
        assert_eq!(format!("Error: {main:?}"), format!("Error: {text}"));
    }

    #[test]
    fn only_what_is_wrong_with_the_values_is_not_about_the_store() {
        for kind in StoreErrorKind::ALL {
            let is_about_values = matches!(kind, StoreErrorKind::Corrupt | StoreErrorKind::Conflict);
            assert_eq!(
                StoreError::new(kind, "claim", "as asked").is_about_the_store(),
                !is_about_values,
                "{kind}"
            );
        }
    }
}
