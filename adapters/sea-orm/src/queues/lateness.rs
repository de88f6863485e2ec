use std::time::Duration;

use claimstream_domain::Due;
use claimstream_ports::StoreError;

use crate::database::Database;

const LATE: &str = "late";

/// By how much a message is late that was to be handled at a time.
pub(crate) async fn late(db: &Database, due: Due) -> Result<Duration, StoreError> {
    let Due::At(moment) = due else { return Ok(Duration::ZERO) };
    let now = db.restarting(|| db.now(db.relay(), LATE)).await?;
    let late = now.saturating_sub(moment.as_micros());
    Ok(Duration::from_micros(u64::try_from(late).unwrap_or_default()))
}
