use claimstream_ports::StoreError;

use crate::{
    database::{args::Args, typed_row::row, unit::rows},
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
        let Ids { bare, reused, doubled } = counted.unwrap_or(Ids { bare: 0, reused: 0, doubled: 0 });
        let mut wrong = Vec::new();
        if bare > 0 {
            wrong.push(format!("{bare} dead letters have lost their bodies, the next sweep restores them"));
        }
        if reused > 0 {
            wrong.push(format!(
                "{reused} dead letters have the ids of other messages, a revival gives them ids of their own"
            ));
        }
        if doubled > 0 {
            wrong.push(format!(
                "{doubled} messages have two entries, the claim that meets them takes one away"
            ));
        }
        Ok(either(
            wrong.is_empty(),
            good("ids", "each belongs to one message"),
            warning("ids", wrong.join("; ")),
        ))
    }
}

row! {
    /// How many ids do not belong to one message.
    struct Ids of "doctor/ids" { bare: i64, reused: i64, doubled: i64 }
}
