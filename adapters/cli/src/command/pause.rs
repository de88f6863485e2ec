use std::{io::Write, process::ExitCode};

use claimstream_domain::{AuditAction, PauseNote, PausedQueue, QueueName};
use claimstream_ports::{PauseQueues, StoreError};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use serde_json::{Value, json};

use super::{audit::Audited, known_queues::remark_if_unknown};
use crate::{
    age::Age,
    config::Config,
    failure::Failure,
    moments::Moments,
    pause_arguments::{PauseArguments, ResumeArguments},
    table::plain,
};

/// Pauses a queue, and says by whom if it was paused already; then nothing changes and nothing is noted.
pub(super) async fn pause(
    asked: PauseArguments,
    config: &Config,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let PauseArguments { queue, why, operator, json: as_json } = asked;
    let note = PauseNote::new(&operator.find()?, why.as_deref());
    let note = note.map_err(|refused| Failure::Usage(refused.to_string()))?;
    let outbox = config.database.open_existing().await?;
    let before = pause_of(&outbox, &queue).await?;
    let is_new = before.is_none() && {
        let audited = Audited { outbox: &outbox, by: note.by() };
        audited.begin(AuditAction::Pause, &format!("queue {queue}")).await?;
        outbox.pause(&queue, &note).await?
    };
    let paused = match before {
        Some(before) => Some(before),
        None => pause_of(&outbox, &queue).await?,
    };
    if is_new {
        remark_if_unknown(&queue, &outbox, config, timer).await;
    }
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let mut said = json!({"queue": queue.as_str(), "changed": is_new});
        for (name, value) in fields(paused.as_ref(), moments) {
            said[name] = value;
        }
        writeln!(out, "{said}")?;
        return Ok(ExitCode::SUCCESS);
    }
    match paused {
        Some(paused) if !is_new => writeln!(out, "{}", remark(&paused))?,
        _ => writeln!(out, "{queue} is paused; relays stop claiming within two seconds")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Resumes a queue; nothing is noted of one that is not paused.
pub(super) async fn resume(
    asked: ResumeArguments,
    config: &Config,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let ResumeArguments { queue, operator, json: as_json } = asked;
    let by = operator.find()?;
    PauseNote::check_name(&by).map_err(|refused| Failure::Usage(refused.to_string()))?;
    let outbox = config.database.open_existing().await?;
    let was_paused = pause_of(&outbox, &queue).await?.is_some() && {
        let audited = Audited { outbox: &outbox, by: &by };
        audited.begin(AuditAction::Resume, &format!("queue {queue}")).await?;
        outbox.resume(&queue, &by).await?
    };
    if !was_paused {
        remark_if_unknown(&queue, &outbox, config, timer).await;
    }
    match (as_json, was_paused) {
        (true, _) => writeln!(out, "{}", json!({"queue": queue.as_str(), "changed": was_paused}))?,
        (false, true) => writeln!(out, "{queue} is resumed")?,
        (false, false) => writeln!(out, "{queue} was not paused")?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn pause_of(outbox: &SeaOrmOutbox, queue: &QueueName) -> Result<Option<PausedQueue>, StoreError> {
    Ok(outbox.paused().await?.into_iter().find(|paused| paused.queue == *queue))
}

/// A sentence on a paused queue.
pub(super) fn remark(paused: &PausedQueue) -> String {
    let PausedQueue { queue, since, note } = paused;
    let why = note.why().map(|why| format!(": {}", plain(why))).unwrap_or_default();
    format!("{queue}: PAUSED for {} by {}{why}", Age(*since), plain(note.by()))
}

/// The fields of a pause; all are null if there is none.
pub(super) fn fields(paused: Option<&PausedQueue>, moments: Moments) -> [(&'static str, Value); 3] {
    let at = paused.map(|paused| moments.ago(paused.since));
    let by = paused.map(|paused| paused.note.by());
    let why = paused.and_then(|paused| paused.note.why());
    [("paused_at", at.into()), ("paused_by", by.into()), ("pause_reason", why.into())]
}
