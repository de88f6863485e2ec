use std::{io::Write, process::ExitCode};

use claimstream_domain::{AuditAction, AuditEntry, LockListed, PauseNote};
use claimstream_ports::{DistributedLock, ListLocks, LockGuard};
use claimstream_sea_orm::Capability;
use serde_json::json;

use super::{
    agreement::agreed,
    audit::Audited,
    listing::{as_list, as_table},
};
use crate::{
    age::Age,
    config::Config,
    exit::Exit,
    failure::Failure,
    holder_arguments::{LockCommand, LocksArguments, ReleaseLockArguments},
    moments::Moments,
    paging::Paging,
    table::{Column, Table, plain},
};

/// Lists locks, or releases one.
pub(super) async fn run(
    asked: LocksArguments,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    match asked.change {
        Some(LockCommand::Release(asked)) => release(asked, config, out).await,
        None => list(asked.paging, config, out).await,
    }
}

async fn list(paging: Paging, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let Paging { after, limit, json: as_json } = paging;
    let outbox = config.database.open_existing_for(&[Capability::Steps]).await?;
    let found = outbox.locks(after, limit).await?;
    let last = found.last().filter(|_| found.len() as u64 >= u64::from(limit));
    let next = last.map(|last| last.key.clone());
    if as_json {
        let moments = Moments::of(&outbox).await?;
        let item = |one: &LockListed| json!({"key": one.key, "fence": one.fence, "ends_at": one.ends_in.map(|left| moments.ahead(left))});
        return as_list(found.iter().map(item), next, out);
    }
    let mut table = Table::new([Column::Text("KEY"), Column::Number("FENCE"), Column::Number("ENDS")]);
    for one in &found {
        let ends = one.ends_in.map_or_else(|| "over".into(), |left| format!("in {}", Age(left)));
        table.row([one.key.clone(), one.fence.to_string(), ends]);
    }
    as_table(&table, found.is_empty(), "there are no locks", next.map(|next| plain(&next)), out)
}

/// Says what stands against a release, or asks, and releases the lock if it is held under the fence that was given.
async fn release(
    asked: ReleaseLockArguments,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let ReleaseLockArguments { key, fence, yes, operator, json: as_json } = asked;
    let by = operator.find()?;
    PauseNote::check_name(&by).map_err(|refused| Failure::Usage(refused.to_string()))?;
    let outbox = config.database.open_existing_for(&[Capability::Steps]).await?;
    let shown = plain(&key);
    let obstacle = obstacle(&shown, fence, outbox.lock_listed(&key).await?.as_ref());
    if obstacle.is_none() && !as_json {
        writeln!(
            out,
            "The holder of {shown} may still be at work, and another may take the lock at once, so that two are at work at a time."
        )?;
    }
    let agreed = obstacle.is_none() && (yes || (!as_json && agreed(&format!("release {shown}"))?));
    if agreed {
        let audited = Audited { outbox: &outbox, by: &by };
        audited
            .begin(AuditAction::ReleaseLock, &format!("lock {} under fence {fence}", AuditEntry::named(&key)))
            .await?;
    }
    let is_released = agreed && outbox.release(LockGuard { key: key.clone(), fence }).await?;
    if is_released {
        tracing::warn!(key = shown, fence, by, "an operator has released a lock");
    }
    if as_json {
        writeln!(out, "{}", json!({"key": key, "fence": fence, "done": is_released}))?;
    } else {
        match (&obstacle, agreed, is_released) {
            (Some(why), ..) => writeln!(out, "{why}; nothing was released")?,
            (None, false, _) => writeln!(out, "nothing was released, give --yes to release it")?,
            (None, true, true) => writeln!(out, "{shown} is released")?,
            (None, true, false) => {
                writeln!(out, "the lock {shown} has changed meanwhile; nothing was released")?
            }
        }
    }
    let is_refused = obstacle.is_some() || (agreed && !is_released);
    Ok(Exit::done_if(!is_refused).into())
}

/// Why the lock is not released; nothing if it is the one that is meant.
fn obstacle(shown: &str, fence: u64, found: Option<&LockListed>) -> Option<String> {
    match found {
        None => Some(format!("there is no lock {shown}")),
        Some(LockListed { ends_in: None, .. }) => Some(format!("{shown} is not held")),
        Some(lock) if lock.fence != fence => {
            Some(format!("{shown} is not held under fence {fence}; its fence is {} now", lock.fence))
        }
        Some(_) => None,
    }
}
