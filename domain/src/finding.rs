use std::fmt;

/// One line of a self-check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The name of the check.
    pub check: &'static str,
    /// The result in a sentence, with the remedy if there is one.
    pub detail: String,
}

/// Findings about one part of a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FindingGroup {
    /// What they are about, such as `outbox`.
    pub about: &'static str,
    /// The findings, in the order of the checks.
    pub findings: Vec<Finding>,
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
