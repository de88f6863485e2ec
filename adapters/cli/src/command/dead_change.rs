use std::{io::Write, process::ExitCode, time::Duration};

use claimstream_domain::{AuditAction, DeadLetterFilter, DeadLetterPlace, MessageId};
use claimstream_ports::{DeadLetters, StoreError, Timer, notification::MessageRepository};
use claimstream_sea_orm::SeaOrmOutbox;
use claimstream_tokio::TokioTimer;
use serde_json::json;
use uuid::Uuid;

use super::{agreement::agreed, audit::Audited};
use crate::{dead_arguments::DeadChange, failure::Failure, progress::Progress};

/// Said where no dead letter matches.
pub(super) const NONE: &str = "there are no such dead letters";

/// What is done to dead letters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Revive,
    Purge,
}

/// Says how many letters match, asks, and changes those; both changes speak in the same words. Answers how many matched, too.
pub(super) async fn run(
    outbox: &SeaOrmOutbox,
    change: Change,
    asked: DeadChange,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<(ExitCode, u64), Failure> {
    let DeadChange { filter, limit, yes, operator, json: as_json, .. } = asked;
    let filter = DeadLetterFilter::from(filter);
    let (by, subject) = (operator.find_or_unnamed(), subject(&filter));
    let audited = Audited { outbox, by: &by };
    let most = limit.unwrap_or(u64::MAX);
    let meant = Meant::by_now(outbox, filter, timer).await?;
    let matched = outbox.count(&meant.filter, most).await?;
    let question = || format!("{} {}", change.verb(), letters(matched));
    let agreed = yes || (matched > 0 && !as_json && agreed(&question())?);
    let mut changed = 0;
    if agreed {
        audited.begin(change.begins(), &subject).await?;
        let made = change.make_all(outbox, &meant, most, matched, &mut changed).await;
        // Before a reader can close the output, and also after an error.
        let noted = audited.end(change.has_ended(), &subject, changed).await;
        made.map_err(|error| change.unfinished(changed, &error))?;
        noted?;
    }
    if as_json {
        let said = json!({"action": change.verb(), "matched": matched, "changed": changed, "done": agreed});
        writeln!(out, "{said}")?;
    } else if agreed {
        writeln!(out, "{} {}", change.done(), letters(changed))?;
    } else if matched == 0 {
        writeln!(out, "{NONE}")?;
    } else {
        let (letters, done, verb) = (letters(matched), change.done(), change.verb());
        writeln!(out, "{letters} would be {done}; nothing was changed, give --yes to {verb} them")?;
    }
    Ok((ExitCode::SUCCESS, matched))
}

/// The letters that match at a moment: those that die while an operator thinks are none of them.
struct Meant {
    filter: DeadLetterFilter,
    /// They begin here.
    first: DeadLetterPlace,
    timer: TokioTimer,
    /// When that was, by the timer.
    at: Duration,
}

impl Meant {
    async fn by_now(
        outbox: &SeaOrmOutbox,
        filter: DeadLetterFilter,
        timer: TokioTimer,
    ) -> Result<Self, StoreError> {
        let now = outbox.since_1970().await?;
        let died_by = now.saturating_sub(filter.dead_for.unwrap_or_default());
        let died_by = i64::try_from(died_by.as_micros()).unwrap_or(i64::MAX);
        let first = DeadLetterPlace::new(died_by, MessageId::new(Uuid::max()));
        Ok(Self { filter, first, timer, at: timer.now() })
    }

    /// Those with these ids, without those that have died again since.
    fn among(&self, ids: Vec<MessageId>) -> DeadLetterFilter {
        let since = self.timer.now() - self.at;
        let dead_for = self.filter.dead_for.unwrap_or(Duration::ZERO).saturating_add(since);
        DeadLetterFilter { ids, dead_for: Some(dead_for), ..self.filter.clone() }
    }
}

/// Which letters are meant, for the audit log: without the words of a reason, which come from messages.
fn subject(filter: &DeadLetterFilter) -> String {
    let DeadLetterFilter { queue, ids, dead_for, reason } = filter;
    let letters = match &ids[..] {
        [] => "dead letters".into(),
        [id] => format!("dead letter {id}"),
        several => format!("{} dead letters by id", several.len()),
    };
    let queue = queue.as_ref().map_or_else(|| "of all queues".into(), |queue| format!("of queue {queue}"));
    let reason = reason.as_ref().map(|_| " with one reason").unwrap_or_default();
    let older = dead_for.map(|age| format!(", dead for {} s", age.as_secs())).unwrap_or_default();
    format!("{letters} {queue}{reason}{older}")
}

fn letters(count: u64) -> String {
    match count {
        1 => "1 dead letter".into(),
        _ => format!("{count} dead letters"),
    }
}

/// The most letters that one call changes, which is one transaction.
const PAGE: u64 = 200;

impl Change {
    fn verb(self) -> &'static str {
        match self {
            Self::Revive => "revive",
            Self::Purge => "purge",
        }
    }

    fn begins(self) -> AuditAction {
        match self {
            Self::Revive => AuditAction::Revive,
            Self::Purge => AuditAction::Purge,
        }
    }

    fn has_ended(self) -> AuditAction {
        match self {
            Self::Revive => AuditAction::Revived,
            Self::Purge => AuditAction::Purged,
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Revive => "revived",
            Self::Purge => "purged",
        }
    }

    /// Changes the newest letters that are meant, at most so many, page by page, and counts them; a run that was cut off is completed by the
    /// next one.
    async fn make_all(
        self,
        outbox: &SeaOrmOutbox,
        meant: &Meant,
        most: u64,
        expected: u64,
        changed: &mut u64,
    ) -> Result<(), StoreError> {
        let progress = Progress::new(self.verb(), Some(expected), "dead letters");
        let (mut left, mut after) = (most, Some(meant.first));
        while left > 0 {
            let page = outbox.page(&meant.filter, after, left.min(PAGE) as u32).await?;
            let ids: Vec<MessageId> = page.letters.iter().map(|letter| letter.id).collect();
            let found = ids.len() as u64;
            left = left.saturating_sub(found);
            if !ids.is_empty() {
                *changed += self.make(outbox, &meant.among(ids)).await?;
            }
            progress.advance(found);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// The error of a change that came so far.
    fn unfinished(self, changed: u64, error: &StoreError) -> Failure {
        let (letters, done) = (letters(changed), self.done());
        let were = if changed == 1 { "was" } else { "were" };
        Failure::Refused(format!(
            "{letters} {were} {done} before this; the same command again does the rest: {error}"
        ))
    }

    async fn make(self, outbox: &SeaOrmOutbox, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        match self {
            Self::Revive => outbox.revive(filter).await,
            Self::Purge => outbox.purge(filter).await,
        }
    }
}
