use std::time::Duration;

use claimstream_ports::StoreError;

use crate::{
    database::{typed_row::row, unit::rows},
    doctor::{
        examination::Examination,
        finding::{Finding, warning},
    },
};

const DOCTOR: &str = "doctor";

/// What clocks of several servers may differ by, and still be in order.
const MOST: Duration = Duration::from_secs(5);

impl Examination<'_> {
    /// A warning if the database's clock shows less than when an instance was last noted, as each relay is once an hour; so it may have been set
    /// back by more than what is shown.
    pub(super) async fn examine_set_back(&self) -> Result<Option<Finding>, StoreError> {
        let found = rows(self.db.relay(), DOCTOR, self.db.sql.doctor.clock.bind(&self.db.args())).await?;
        let newest = found.first().map(NewestNote::read).transpose()?;
        let ahead = newest.and_then(|note| note.ahead).and_then(|ahead| u64::try_from(ahead).ok());
        let ahead = Duration::from_micros(ahead.unwrap_or_default());
        let finding = || {
            warning(
                "clock",
                format!(
                    "the database's clock was set back by {} s or more: what was leased or put off before waits as much longer. Set the \
                     clock right if it is wrong now; leases and locks of processes that have ended can be released. If the clock \
                     was wrong before and is right now, delete the rows of claimstream_instance whose seen_at lies ahead",
                    ahead.as_secs()
                ),
            )
        };
        Ok((ahead > MOST).then(finding))
    }
}

row! {
    /// The newest note of an instance.
    struct NewestNote of "doctor/clock" { ahead: Option<i64> }
}
