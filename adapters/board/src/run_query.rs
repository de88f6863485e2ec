use std::time::Duration;

use claimstream_domain::step::{RunEnds, RunFilter, RunKind, RunPlace};
use serde::Deserialize;

/// Which runs are listed, as an address names it.
#[derive(Deserialize)]
pub(crate) struct RunQuery {
    /// The shortest time without a change, such as `10m`.
    stuck: Option<String>,
    /// Whether those that have ended are listed too.
    all: Option<String>,
    /// Only those of this name or scope.
    name: Option<String>,
    /// Where a page begins.
    after: Option<String>,
}

/// The same as it was understood.
pub(crate) struct RunChoice {
    pub(crate) filter: RunFilter,
    pub(crate) after: Option<RunPlace>,
    /// How the filter was written.
    pub(crate) stuck: String,
    pub(crate) name: String,
    pub(crate) all: bool,
}

impl RunQuery {
    /// The runs of a kind that are meant, or a sentence that says why it means none.
    pub(crate) fn read(self, kind: RunKind) -> Result<RunChoice, String> {
        let stuck = self.stuck.unwrap_or_default().trim().to_owned();
        let name = self.name.unwrap_or_default().trim().to_owned();
        let quiet_for = match &*stuck {
            "" => Duration::ZERO,
            text => humantime::parse_duration(text)
                .map_err(|_| format!("“{text}” is no duration; write one like 10m or 2h."))?,
        };
        let after = self.after.map(|after| after.parse()).transpose();
        let after = after.map_err(|_| "This is no place in the list; start at the first page.")?;
        let ends = if self.all.is_some() { RunEnds::All } else { RunEnds::Open };
        let scope = (!name.is_empty()).then(|| kind.scope(&name).into());
        let filter = RunFilter { kind, scope, ends, quiet_for };
        Ok(RunChoice { filter, after, stuck, name, all: ends == RunEnds::All })
    }
}

impl RunChoice {
    /// The values by which an address names the same, without the place.
    pub(crate) fn values(&self) -> Vec<(&'static str, &str)> {
        let mut values = Vec::new();
        if !self.stuck.is_empty() {
            values.push(("stuck", self.stuck.as_str()));
        }
        if !self.name.is_empty() {
            values.push(("name", self.name.as_str()));
        }
        if self.all {
            values.push(("all", "yes"));
        }
        values
    }
}
