use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_domain::{
    AuditAction, MessageStanding,
    notification::{DeliveryStatus, NotificationRecord, Progress, ReceiptFact, ReceiptKind, RequestStatus},
};
use claimstream_ports::notification::{Cancelled, CancelledMessages, NotificationReports, RequestRepository};
use claimstream_sea_orm::{Capability, SeaOrmOutbox};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    attempts,
    audit::Audited,
    receipts,
    standing::{self, Standings},
};
use crate::{
    config::Config,
    failure::Failure,
    moments::Moments,
    table::{Column, Table, plain},
};

/// Calls a request off.
pub(super) async fn cancel(
    id: Uuid,
    by: &str,
    as_json: bool,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing_for(&[Capability::Notifications]).await?;
    Audited { outbox: &outbox, by }.begin(AuditAction::Cancel, &format!("request {id}")).await?;
    match outbox.cancel(id).await? {
        Cancelled::Yes(CancelledMessages { messages, delivered, in_hands }) if as_json => writeln!(
            out,
            "{}",
            json!({"id": id.to_string(), "taken_back": messages, "in_hands": in_hands, "delivered": delivered})
        )?,
        Cancelled::Yes(CancelledMessages { messages, delivered, in_hands }) => writeln!(
            out,
            "cancelled {id}: {messages} messages taken back, at most {in_hands} of them in a provider's hands, {delivered} \
             delivered before"
        )?,
        Cancelled::TooLate(status) => {
            return Err(Failure::Refused(format!(
                "too late: {id} is {status}, nothing is left to take back"
            )));
        }
        Cancelled::Unknown => return Err(unknown(id)),
    }
    Ok(ExitCode::SUCCESS)
}

/// What is shown of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestView {
    /// The most messages.
    pub(super) limit: u32,
    /// Whether the attempts at them are shown.
    pub(super) attempts: bool,
    /// Whether it is shown as JSON.
    pub(super) as_json: bool,
}

/// Shows how far a request has come and what became of its messages.
pub(super) async fn show(
    id: Uuid,
    what: RequestView,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing_for(&[Capability::Notifications]).await?;
    let progress = outbox.progress(id).await?.ok_or_else(|| unknown(id))?;
    let messages = read_messages(&outbox, id, what.limit).await?;
    let receipts = receipts::of(&outbox, &messages).await?;
    let attempts = match what.attempts {
        true => Some(attempts::of(&outbox, &messages).await?),
        false => None,
    };
    let pending = messages.iter().filter(|message| message.status == DeliveryStatus::Pending);
    let standings = pending.map(|message| message.id).chain(is_open(&progress).then_some(id));
    let standings = Standings::of(&outbox, standings).await?;
    if what.as_json {
        let moments = Moments::of(&outbox).await?;
        let mut shown = as_value(id, &progress, &messages, &receipts, &standings, moments);
        if let (Some(fields), Some(attempts)) = (shown.as_object_mut(), &attempts) {
            fields.insert("attempts".into(), attempts::as_value(attempts, moments));
        }
        writeln!(out, "{shown}")?;
    } else {
        write!(out, "{}", summary(id, &progress, standings.get(id)))?;
        if !messages.is_empty() {
            write!(out, "\n{}", table(&messages, &receipts, &standings))?;
        }
        if let Some(attempts) = attempts {
            write!(out, "\n{}", attempts::table(&attempts))?;
        }
    }
    let left = progress.total().saturating_sub(messages.len() as u64);
    if left > 0 {
        let _ = writeln!(stderr(), "{left} more messages; use --limit {}", progress.total());
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(id: Uuid) -> Failure {
    Failure::Refused(format!("there is no request {id}"))
}

/// The most messages that are read at a time.
const PAGE: u32 = 500;

async fn read_messages(
    outbox: &SeaOrmOutbox,
    id: Uuid,
    limit: u32,
) -> Result<Vec<NotificationRecord>, Failure> {
    let mut messages: Vec<NotificationRecord> = Vec::new();
    loop {
        let wanted = (limit as usize).saturating_sub(messages.len()).min(PAGE as usize);
        if wanted == 0 {
            return Ok(messages);
        }
        let after = messages.last().map(|last| last.id);
        let page = outbox.messages(id, after, wanted as u32).await?;
        let is_last = page.len() < wanted;
        messages.extend(page);
        if is_last {
            return Ok(messages);
        }
    }
}

/// Whether the request itself is still to be taken up or on its way into messages.
fn is_open(progress: &Progress) -> bool {
    matches!(progress.status(), RequestStatus::Pending | RequestStatus::Processing)
}

fn summary(id: Uuid, progress: &Progress, standing: Option<&MessageStanding>) -> String {
    let waits = standing.map(|standing| {
        let attempt = format!("attempt   {}, next {}\n", standing.attempts, plain(&standing::next(standing)));
        let error = standing.last_error.as_ref();
        attempt + &error.map(|why| format!("error     {}\n", plain(why.as_str()))).unwrap_or_default()
    });
    let waits = waits.unwrap_or_default();
    let reason =
        progress.reason.as_deref().map(|why| format!("reason    {}\n", plain(why))).unwrap_or_default();
    let receipts = receipts::summary(&progress.receipts);
    format!(
        "request   {id}\nstatus    {}\n{reason}{waits}messages  {} pending, {} delivered, {} skipped, {} failed, \
         {} cancelled\n{receipts}",
        progress.status(),
        progress.pending,
        progress.delivered,
        progress.skipped,
        progress.failed,
        progress.cancelled
    )
}

fn table(messages: &[NotificationRecord], receipts: &[Vec<ReceiptFact>], standings: &Standings) -> Table<9> {
    let columns =
        ["MESSAGE", "CHANNEL", "RECIPIENT", "STATUS", "ATTEMPT", "NEXT", "RECEIPT", "REFERENCE", "REASON"];
    let mut table = Table::new(columns.map(Column::Text));
    for (message, facts) in messages.iter().zip(receipts) {
        let standing = standings.get(message.id);
        let error = standing.and_then(|standing| standing.last_error.as_ref());
        table.row([
            message.id.to_string(),
            message.channel.to_string(),
            message.recipient.clone(),
            message.status.to_string(),
            standing.map(|standing| standing.attempts.to_string()).unwrap_or_default(),
            standing.map(standing::next).unwrap_or_default(),
            receipts::standing(facts).map(|kind| kind.to_string()).unwrap_or_default(),
            message.reference.clone().unwrap_or_default(),
            message.reason.as_ref().or(error).map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    table
}

fn as_value(
    id: Uuid,
    progress: &Progress,
    messages: &[NotificationRecord],
    receipts: &[Vec<ReceiptFact>],
    standings: &Standings,
    moments: Moments,
) -> Value {
    let message = |(message, facts): (&NotificationRecord, &Vec<ReceiptFact>)| {
        let mut fields = standing::fields(standings.get(message.id), moments);
        let Value::Object(known) = json!({
            "id": message.id.to_string(),
            "channel": message.channel.name(),
            "recipient": message.recipient,
            "status": message.status.name(),
            "reference": message.reference,
            "reason": message.reason.as_ref().map(|reason| reason.as_str()),
            "receipt": receipts::standing(facts).map(ReceiptKind::name),
            "receipts": receipts::as_value(facts, moments),
        }) else {
            return Value::Null;
        };
        fields.extend(known);
        Value::Object(fields)
    };
    json!({
        "id": id.to_string(),
        "status": progress.status().name(),
        "reason": progress.reason,
        "outbox": standings.get(id).map(|it| standing::fields(Some(it), moments)),
        "pending": progress.pending,
        "delivered": progress.delivered,
        "skipped": progress.skipped,
        "failed": progress.failed,
        "cancelled": progress.cancelled,
        "receipts": receipts::counts(&progress.receipts),
        "messages": messages.iter().zip(receipts).map(message).collect::<Vec<_>>(),
    })
}
