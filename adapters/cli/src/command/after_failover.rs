use std::{io::Write, process::ExitCode};

use claimstream_domain::AuditAction;
use claimstream_sea_orm::FailoverRemains;
use serde_json::json;

use super::{agreement::agreed, audit::Audited};
use crate::{config::Config, doctor_arguments::DoctorArguments, exit::Exit, failure::Failure};

/// What the audit log says of it.
const SUBJECT: &str = "what a failover has left";

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
    let agreed = !found.is_empty() && (yes || (!as_json && agreed("queue them again")?));
    let mut queued = 0;
    if agreed {
        let by = operator.find_or_unnamed();
        let audited = Audited { outbox: &outbox, by: &by };
        audited.begin(AuditAction::Repair, SUBJECT).await?;
        queued = outbox.repair_failover_remains(&found).await?;
        audited.end(AuditAction::Repaired, SUBJECT, queued).await?;
    }
    if as_json {
        let said = json!({
            "requests": found.requests,
            "messages": found.messages,
            "beyond_repair": found.beyond_repair,
            "queued": queued,
            "done": agreed,
        });
        writeln!(out, "{said}")?;
    } else if agreed {
        writeln!(out, "{} queued again", counted(queued, "message was", "messages were"))?;
    } else if !found.is_empty() {
        writeln!(out, "nothing was changed, give --yes to queue them again")?;
    }
    let is_whole = (found.is_empty() || agreed) && found.beyond_repair.is_empty();
    Ok(Exit::done_if(is_whole).into())
}

fn says(found: &FailoverRemains) -> Vec<String> {
    let mut lines = Vec::new();
    let FailoverRemains { requests, messages, beyond_repair } = found;
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

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
