use std::{io::Write, process::ExitCode};

use claimstream_domain::AuditAction;
use claimstream_sea_orm::{FailoverRemains, FailoverRepair};
use serde_json::json;
use uuid::Uuid;

use super::{agreement::agreed, audit::Audited};
use crate::{config::Config, doctor_arguments::DoctorArguments, exit::Exit, failure::Failure};

/// What the audit log says of it.
const SUBJECT: &str = "what a failover has left";

/// So many ids of a kind stand in the audit log, or are shown.
const MOST_NAMED: usize = 100;

/// So many ids fit into a subject.
const IN_A_LINE: usize = 4;

/// Says what a failover has left, asks, and has it worked on again.
pub(super) async fn run(
    asked: DoctorArguments,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let DoctorArguments { quiet_for, yes, operator, json: as_json, .. } = asked;
    let outbox = config.database.open_existing().await?;
    let found = outbox.failover_remains(quiet_for).await?;
    if !as_json {
        says(&found).into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    let agreed = !found.is_empty() && (yes || (!as_json && agreed("repair that")?));
    let mut came_to = FailoverRepair::default();
    if agreed {
        let by = operator.find_or_unnamed();
        let audited = Audited { outbox: &outbox, by: &by };
        audited.begin(AuditAction::Repair, SUBJECT).await?;
        for subject in subjects(&found) {
            audited.begin(AuditAction::Repair, &subject).await?;
        }
        came_to = outbox.repair_failover_remains(&found).await?;
        audited.end(AuditAction::Repaired, SUBJECT, came_to.queued).await?;
    }
    let FailoverRepair { queued, unreadable } = came_to;
    if as_json {
        let said = json!({
            "requests": found.requests,
            "messages": found.messages,
            "delivered": found.delivered,
            "beyond_repair": found.beyond_repair,
            "unreadable": unreadable,
            "queued": queued,
            "done": agreed,
        });
        writeln!(out, "{said}")?;
    } else if agreed {
        writeln!(out, "{} queued again", counted(queued, "message was", "messages were"))?;
        not_read(&unreadable).into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
    } else if !found.is_empty() {
        writeln!(out, "nothing was changed, give --yes to repair that")?;
    }
    let is_left = !found.beyond_repair.is_empty() || !unreadable.is_empty();
    let is_whole = (found.is_empty() || agreed) && !is_left;
    Ok(Exit::done_if(is_whole).into())
}

fn says(found: &FailoverRemains) -> Vec<String> {
    let mut lines = Vec::new();
    let FailoverRemains { requests, messages, delivered, beyond_repair } = found;
    let count = |ids: &[_], one, many| counted(ids.len() as u64, one, many);
    if !requests.is_empty() {
        let requests = count(requests, "request has", "requests have");
        lines.push(format!("{requests} lost the message that fans them out; notifications that are recorded are not sent again"));
    }
    if !messages.is_empty() {
        let messages = count(messages, "message", "messages");
        lines.push(format!(
            "{messages} with pending notifications left the queue without a record of the delivery; what was delivered is delivered a \
             second time"
        ));
    }
    if !delivered.is_empty() {
        let delivered = count(delivered, "pending notification was", "pending notifications were");
        lines.push(format!("{delivered} delivered, as the provider said; that is noted"));
    }
    if !beyond_repair.is_empty() {
        let lost = count(beyond_repair, "notification is", "notifications are");
        lines.push(format!(
            "{lost} pending for ever: their messages are deleted and their requests have ended; hand them in as new requests if they \
             still matter"
        ));
        lines.extend(named(beyond_repair));
    }
    if lines.is_empty() {
        lines.push("nothing is left without a worker".into());
    }
    lines
}

/// Says which requests are left, and what would work.
fn not_read(requests: &[Uuid]) -> Vec<String> {
    if requests.is_empty() {
        return Vec::new();
    }
    let count = counted(requests.len() as u64, "request was", "requests were");
    let why = format!(
        "{count} not fanned out again, because they cannot be read; repeat this with the version that wrote them, or hand them in as new \
         requests:"
    );
    std::iter::once(why).chain(named(requests)).collect()
}

/// Ids, a line each; of very many it says how many there are.
fn named(ids: &[Uuid]) -> Vec<String> {
    let mut lines: Vec<String> = ids.iter().take(MOST_NAMED).map(|id| format!("  {id}")).collect();
    let rest = ids.len().saturating_sub(MOST_NAMED);
    if rest > 0 {
        lines.push(format!("  {rest} more; --json has all of them"));
    }
    lines
}

/// What the audit log says is repaired, some ids in a line; of very many it says how many there are.
fn subjects(found: &FailoverRemains) -> Vec<String> {
    let kinds =
        [("request", &found.requests), ("message", &found.messages), ("notification", &found.delivered)];
    let of_kind = |(kind, ids): (&str, &Vec<Uuid>)| {
        let named = ids.iter().take(MOST_NAMED).collect::<Vec<_>>();
        let line = |some: &[&Uuid]| {
            let some: Vec<String> = some.iter().map(ToString::to_string).collect();
            format!("{kind} {}", some.join(" "))
        };
        let mut lines: Vec<String> = named.chunks(IN_A_LINE).map(line).collect();
        let rest = ids.len() - named.len();
        if rest > 0 {
            lines.push(format!("{kind}: {rest} more"));
        }
        lines
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use claimstream_domain::AuditEntry;

    use super::*;

    #[test]
    fn the_audit_log_names_what_is_repaired_as_far_as_there_is_room() {
        let ids = |count: u128| (0..count).map(Uuid::from_u128).collect::<Vec<_>>();
        let found = FailoverRemains {
            requests: ids(1),
            messages: ids(MOST_NAMED as u128 + 7),
            delivered: ids(5),
            ..FailoverRemains::default()
        };
        let all = subjects(&found);
        assert_eq!(all.len(), 1 + MOST_NAMED / IN_A_LINE + 1 + 2);
        assert_eq!(all[0], format!("request {}", Uuid::nil()));
        assert!(all.contains(&"message: 7 more".to_owned()), "{all:?}");
        assert!(all.iter().all(|subject| AuditEntry::new("ann", AuditAction::Repair, subject).is_ok()));
        assert!(subjects(&FailoverRemains::default()).is_empty());
    }

    #[test]
    fn what_is_left_is_named_as_far_as_there_is_room() {
        let ids: Vec<Uuid> = (0..MOST_NAMED as u128 + 7).map(Uuid::from_u128).collect();
        let lines = not_read(&ids);
        assert_eq!(lines.len(), 1 + MOST_NAMED + 1);
        assert!(
            lines[0].starts_with("107 requests were not fanned out again")
                && lines[1].ends_with(&ids[0].to_string())
        );
        assert_eq!(lines[101], "  7 more; --json has all of them");
        assert!(not_read(&[]).is_empty());
    }
}
