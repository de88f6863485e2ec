use std::{io::Write, process::ExitCode};

use claimstream_domain::{AuditAction, DeadLetterFilter, MessageId};
use claimstream_ports::{DeadLetters, StoreError};
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::json;

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

/// Says how many letters match, asks, and changes them; both changes speak in the same words.
pub(super) async fn run(
    outbox: &SeaOrmOutbox,
    change: Change,
    asked: DeadChange,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let DeadChange { filter, limit, yes, operator, json: as_json, .. } = asked;
    let filter = DeadLetterFilter::from(filter);
    let (by, subject) = (operator.find_or_unnamed(), subject(&filter));
    let audited = Audited { outbox, by: &by };
    let most = limit.unwrap_or(u64::MAX);
    let matched = outbox.count(&filter, most).await?;
    let question = || format!("{} {}", change.verb(), letters(matched));
    let agreed = yes || (matched > 0 && !as_json && agreed(&question())?);
    let changed = match agreed {
        true => {
            audited.begin(change.begins(), &subject).await?;
            change.make_all(outbox, &filter, most, matched).await?
        }
        false => 0,
    };
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
    if agreed {
        audited.end(change.has_ended(), &subject, changed).await?;
    }
    Ok(ExitCode::SUCCESS)
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

/// The most letters that one call changes.
const PAGE: u64 = 500;

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

    /// Changes the newest letters that match, at most so many, page by page; a run that was cut off is completed by the next one.
    ///
    /// Letters that die meanwhile are newer than the pages that are still to come.
    async fn make_all(
        self,
        outbox: &SeaOrmOutbox,
        filter: &DeadLetterFilter,
        most: u64,
        expected: u64,
    ) -> Result<u64, Failure> {
        let progress = Progress::new(self.verb(), Some(expected), "dead letters");
        let (mut changed, mut left, mut after) = (0, most, None);
        while left > 0 {
            let page = outbox.page(filter, after, left.min(PAGE) as u32).await?;
            let ids: Vec<MessageId> = page.letters.iter().map(|letter| letter.id).collect();
            let found = ids.len() as u64;
            left = left.saturating_sub(found);
            if !ids.is_empty() {
                changed += self.make(outbox, &DeadLetterFilter { ids, ..filter.clone() }).await?;
            }
            progress.advance(found);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        Ok(changed)
    }

    async fn make(self, outbox: &SeaOrmOutbox, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        match self {
            Self::Revive => outbox.revive(filter).await,
            Self::Purge => outbox.purge(filter).await,
        }
    }
}
