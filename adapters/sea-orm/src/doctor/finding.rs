pub use claimstream_domain::{Finding, Severity};
use claimstream_ports::StoreError;

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

/// The findings, or a failure that says why there are none: one question without an answer keeps no other from its own.
pub(crate) fn examined(
    check: &'static str,
    found: Result<impl IntoIterator<Item = Finding>, StoreError>,
) -> Vec<Finding> {
    match found {
        Ok(found) => found.into_iter().collect(),
        Err(error) => vec![failure(check, format!("could not be examined: {error}"))],
    }
}

/// `good` if it holds, else `bad`.
pub(crate) fn either(holds: bool, good: Finding, bad: Finding) -> Finding {
    if holds { good } else { bad }
}
