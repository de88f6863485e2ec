use std::time::Duration;

use claimstream_ports::StoreError;

use crate::{
    database::{Database, clock::micros, typed_row::row, unit::rows},
    doctor::finding::{Finding, either, good, warning},
};

const DOCTOR: &str = "doctor";

/// Steps are forgotten when they are old and their runs have ended.
pub(crate) async fn examine_steps(db: &Database, kept: Duration) -> Result<Finding, StoreError> {
    let args = db.args().with("kept", micros(kept));
    let found = rows(db.relay(), DOCTOR, db.sql.steps.open_runs.bind(&args)).await?;
    let mut open = Vec::new();
    for row in &found {
        let OpenRuns { scope, runs, days } = OpenRuns::read(row)?;
        open.push(format!("{runs} of {scope} (the oldest {days} days old)"));
    }
    Ok(either(
        open.is_empty(),
        good("steps", format!("no run is older than step_retention, {kept:?}, and still open")),
        warning(
            "steps",
            format!(
                "older than step_retention, {kept:?}, and still open: {}; they are kept until they have ended, so look for what holds \
                 them up, such as a dead letter",
                open.join(", ")
            ),
        ),
    ))
}

row! {
    struct OpenRuns of "steps/open_runs" { scope: String, runs: i64, days: i64 }
}
