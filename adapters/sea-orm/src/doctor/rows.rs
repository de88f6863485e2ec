use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, clock::micros, typed_row::row, unit::rows},
    doctor::{
        examination::Examination,
        finding::{Finding, either, good, warning},
    },
};

const DOCTOR: &str = "doctor";

impl Examination<'_> {
    /// An id belongs to one message, live or dead, which has one entry and a body that keeps others away.
    pub(super) async fn examine_ids(&self) -> Result<Finding, StoreError> {
        let counted = rows(self.db.relay(), DOCTOR, self.db.sql.doctor.ids.bind(&Args::new())).await?;
        let counted = counted.first().map(Ids::read).transpose()?;
        let Ids { bare, beside, twins } = counted.unwrap_or(Ids { bare: 0, beside: 0, twins: 0 });
        let mut wrong = Vec::new();
        if bare > 0 {
            wrong.push(format!("{bare} dead letters have lost their bodies, the next sweep restores them"));
        }
        if beside > 0 {
            wrong.push(format!(
                "{beside} dead letters have the ids of other messages, a revival gives them ids of their own"
            ));
        }
        if twins > 0 {
            wrong
                .push(format!("{twins} messages have two entries, the claim that meets them takes one away"));
        }
        Ok(either(
            wrong.is_empty(),
            good("ids", "each belongs to one message"),
            warning("ids", wrong.join("; ")),
        ))
    }

    /// Steps are forgotten when they are old and their runs have ended.
    pub(super) async fn examine_steps(&self) -> Result<Finding, StoreError> {
        let args = self.db.args().with("kept", micros(self.step_retention));
        let found = rows(self.db.relay(), DOCTOR, self.db.sql.doctor.steps.bind(&args)).await?;
        let mut open = Vec::new();
        for row in &found {
            let OpenRuns { scope, runs, days } = OpenRuns::read(row)?;
            open.push(format!("{runs} of {scope} (the oldest {days} days old)"));
        }
        let kept = self.step_retention;
        Ok(either(
            open.is_empty(),
            good("steps", format!("no run is older than step_retention, {kept:?}, and still open")),
            warning(
                "steps",
                format!(
                    "older than step_retention, {kept:?}, and still open: {}; they are kept until they have ended, so look for \
                     what holds them up, such as a dead letter",
                    open.join(", ")
                ),
            ),
        ))
    }
}

row! {
    /// How many ids do not belong to one message.
    struct Ids of "doctor/ids" { bare: i64, beside: i64, twins: i64 }
}

row! {
    struct OpenRuns of "doctor/steps" { scope: String, runs: i64, days: i64 }
}
