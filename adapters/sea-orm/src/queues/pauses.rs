use std::time::Duration;

use claimstream_domain::{PauseNote, PausedQueue, QueueName};
use claimstream_ports::{StoreError, StoreErrorKind};
use sea_orm::Value;

use crate::database::{
    Database,
    classify::corrupt,
    typed_row::row,
    unit::{rows, run},
};

const PAUSE: &str = "pause";
const RESUME: &str = "resume";
const PAUSED: &str = "paused";

/// Pauses a queue; `false` if it was paused already.
pub(crate) async fn pause(db: &Database, queue: &QueueName, note: &PauseNote) -> Result<bool, StoreError> {
    let args = db.args().with("queue", queue.as_str()).with("by", note.by());
    let args = args.with("why", Value::String(note.why().map(str::to_owned)));
    let again = || run(db.relay(), PAUSE, db.sql.pauses.again.bind(&args));
    if db.restarting(again).await? > 0 {
        return Ok(true);
    }
    let first = || run(db.relay(), PAUSE, db.sql.pauses.first.bind(&args));
    match db.restarting(first).await {
        Ok(_) => Ok(true),
        Err(known) if known.kind() == StoreErrorKind::Conflict => Ok(false),
        Err(error) => Err(error),
    }
}

/// Resumes a queue; `false` if it was not paused.
pub(crate) async fn resume(db: &Database, queue: &QueueName, by: &str) -> Result<bool, StoreError> {
    PauseNote::check_name(by).map_err(|refused| corrupt(RESUME, refused))?;
    let args = db.args().with("queue", queue.as_str()).with("by", by);
    let resume = || run(db.relay(), RESUME, db.sql.pauses.resume.bind(&args));
    Ok(db.restarting(resume).await? > 0)
}

/// The queues that are paused, by name.
pub(crate) async fn paused(db: &Database) -> Result<Vec<PausedQueue>, StoreError> {
    let found = db.restarting(|| rows(db.relay(), PAUSED, db.sql.pauses.list.bind(&db.args()))).await?;
    let listed = found.iter().map(|row| {
        let PauseRow { queue, since, paused_by, why } = PauseRow::read(row)?;
        let queue = QueueName::new(&queue).map_err(|refused| corrupt(PAUSED, refused))?;
        let note = PauseNote::new(&paused_by, why.as_deref()).map_err(|refused| corrupt(PAUSED, refused))?;
        Ok(PausedQueue { queue, since: Duration::from_micros(since.max(0).unsigned_abs()), note })
    });
    listed.collect()
}

row! {
    struct PauseRow of "pauses/list" { queue: String, since: i64, paused_by: String, why: Option<String> }
}
