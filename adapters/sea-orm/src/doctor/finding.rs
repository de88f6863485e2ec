use std::fmt;

use claimstream_ports::StoreError;

/// One line of the self-check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The name of the check.
    pub check: &'static str,
    /// The result in a sentence, with the remedy if there is one.
    pub detail: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// As it should be.
    Good,
    /// It works, with less than one might think.
    Warning,
    /// Messages could be lost, doubled or stuck.
    Failure,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Good => "ok  ",
            Severity::Warning => "warn",
            Severity::Failure => "FAIL",
        };
        write!(f, "{severity}  {:<22} {}", self.check, self.detail)
    }
}

pub(crate) fn good(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { severity: Severity::Good, check, detail: detail.into() }
}

pub(crate) fn warning(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { severity: Severity::Warning, check, detail: detail.into() }
}

pub(crate) fn failure(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { severity: Severity::Failure, check, detail: detail.into() }
}

/// The finding, or a warning that it was not counted: a statement that walks a large queue may take longer than its time limit.
pub(crate) fn or_uncounted(check: &'static str, found: Result<Finding, StoreError>) -> Finding {
    found.unwrap_or_else(|error| warning(check, format!("not counted: {error}")))
}

/// `good` if it holds, else `bad`.
pub(crate) fn either(holds: bool, good: Finding, bad: Finding) -> Finding {
    if holds { good } else { bad }
}
