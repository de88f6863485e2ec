use std::{io::Write, process::ExitCode};

use claimstream_domain::AuditAction;
use claimstream_sea_orm::FailoverRemains;
use serde_json::json;
use uuid::Uuid;

use super::{agreement::agreed, audit::Audited};
use crate::{config::Config, doctor_arguments::DoctorArguments, exit::Exit, failure::Failure};

/// What the audit log says of it.
const SUBJECT: &str = "what a failover has left";

/// So many ids of a kind stand in the audit log.
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
    let mut queued = 0;
    if agreed {
        let by = operator.find_or_unnamed();
        let audited = Audited { outbox: &outbox, by: &by };
        audited.begin(AuditAction::Repair, SUBJECT).await?;
        for subject in subjects(&found) {
            audited.begin(AuditAction::Repair, &subject).await?;
        }
        queued = outbox.repair_failover_remains(&found).await?;
        audited.end(AuditAction::Repaired, SUBJECT, queued).await?;
    }
    if as_json {
        let said = json!({
            "requests": found.requests,
            "messages": found.messages,
            "delivered": found.delivered,
            "beyond_repair": found.beyond_repair,
            "queued": queued,
            "done": agreed,
        });
        writeln!(out, "{said}")?;
    } else if agreed {
        writeln!(out, "{} queued again", counted(queued, "message was", "messages were"))?;
    } else if !found.is_empty() {
        writeln!(out, "nothing was changed, give --yes to repair that")?;
    }
    let is_whole = (found.is_empty() || agreed) && found.beyond_repair.is_empty();
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
    }
    if lines.is_empty() {
        lines.push("nothing is left that nobody works on".into());
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
}
