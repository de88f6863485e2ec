use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use claimstream_domain::notification::{NotificationRecord, Progress, ReceiptFact, ReceiptKind};
use claimstream_ports::notification::{Cancelled, NotificationReports, RequestRepository, TakenBack};
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{attempts, receipts};
use crate::{
    config::Config,
    failure::Failure,
    table::{Column, Table, plain},
};

/// Calls a request off.
pub(super) async fn cancel(id: Uuid, config: &Config, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing().await?;
    match outbox.cancel(id).await? {
        Cancelled::Yes(TakenBack { messages, delivered, in_hands }) => writeln!(
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
pub(super) struct Shown {
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
    what: Shown,
    config: &Config,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let outbox = config.database.open_existing().await?;
    let progress = outbox.progress(id).await?.ok_or_else(|| unknown(id))?;
    let messages = read_messages(&outbox, id, what.limit).await?;
    let receipts = receipts::of(&outbox, &messages).await?;
    let attempts = match what.attempts {
        true => Some(attempts::of(&outbox, &messages).await?),
        false => None,
    };
    if what.as_json {
        let mut shown = as_value(id, &progress, &messages, &receipts);
        if let (Some(fields), Some(attempts)) = (shown.as_object_mut(), &attempts) {
            fields.insert("attempts".into(), attempts::as_value(attempts));
        }
        writeln!(out, "{shown}")?;
    } else {
        write!(out, "{}", summary(id, &progress))?;
        if !messages.is_empty() {
            write!(out, "\n{}", table(&messages, &receipts))?;
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

fn summary(id: Uuid, progress: &Progress) -> String {
    let reason =
        progress.reason.as_deref().map(|why| format!("reason    {}\n", plain(why))).unwrap_or_default();
    format!(
        "request   {id}\nstatus    {}\n{reason}messages  {} pending, {} delivered, {} skipped, {} failed, \
         {} cancelled\n",
        progress.status(),
        progress.pending,
        progress.delivered,
        progress.skipped,
        progress.failed,
        progress.cancelled
    )
}

fn table(messages: &[NotificationRecord], receipts: &[Vec<ReceiptFact>]) -> Table<7> {
    let columns = ["MESSAGE", "CHANNEL", "RECIPIENT", "STATUS", "RECEIPT", "REFERENCE", "REASON"];
    let mut table = Table::new(columns.map(Column::Text));
    for (message, facts) in messages.iter().zip(receipts) {
        table.row([
            message.id.to_string(),
            message.channel.to_string(),
            message.recipient.clone(),
            message.status.to_string(),
            receipts::standing(facts).map(|kind| kind.to_string()).unwrap_or_default(),
            message.reference.clone().unwrap_or_default(),
            message.reason.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    table
}

fn as_value(
    id: Uuid,
    progress: &Progress,
    messages: &[NotificationRecord],
    receipts: &[Vec<ReceiptFact>],
) -> Value {
    let message = |(message, facts): (&NotificationRecord, &Vec<ReceiptFact>)| {
        json!({
            "id": message.id.to_string(),
            "channel": message.channel.name(),
            "recipient": message.recipient,
            "status": message.status.name(),
            "reference": message.reference,
            "reason": message.reason.as_ref().map(|reason| reason.as_str()),
            "receipt": receipts::standing(facts).map(ReceiptKind::name),
            "receipts": receipts::as_value(facts),
        })
    };
    json!({
        "id": id.to_string(),
        "status": progress.status().name(),
        "reason": progress.reason,
        "pending": progress.pending,
        "delivered": progress.delivered,
        "skipped": progress.skipped,
        "failed": progress.failed,
        "cancelled": progress.cancelled,
        "messages": messages.iter().zip(receipts).map(message).collect::<Vec<_>>(),
    })
}
