use std::time::Duration;

use claimstream_domain::notification::{NotificationRecord, ReceiptCounts, ReceiptFact, ReceiptKind};
use claimstream_ports::notification::DeliveryReceipts;
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{failure::Failure, moments::Moments};

/// The most messages that one question names.
const PAGE: usize = 500;

/// What providers said of messages, in the order of these.
pub(super) async fn of(
    outbox: &SeaOrmOutbox,
    messages: &[NotificationRecord],
) -> Result<Vec<Vec<ReceiptFact>>, Failure> {
    let mut facts = Vec::with_capacity(messages.len());
    for part in messages.chunks(PAGE) {
        let ids: Vec<Uuid> = part.iter().map(|message| message.id).collect();
        facts.extend(outbox.facts(&ids).await?);
    }
    Ok(facts)
}

/// The strongest receipt, for a table.
pub(super) fn standing(facts: &[ReceiptFact]) -> Option<ReceiptKind> {
    ReceiptKind::standing(facts.iter().map(|fact| fact.kind))
}

/// Of how many messages providers said what, as a line; nothing if they said nothing.
pub(super) fn summary(counts: &ReceiptCounts) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let said = counts.iter().filter(|(_, messages)| *messages > 0);
    let said: Vec<_> = said.map(|(kind, messages)| format!("{messages} {kind}")).collect();
    format!("receipts  {}\n", said.join(", "))
}

/// Of how many messages providers said what.
pub(super) fn counts(counts: &ReceiptCounts) -> Value {
    counts.iter().map(|(kind, messages)| (kind.name().to_owned(), json!(messages))).collect()
}

/// All receipts of a message.
pub(super) fn as_value(facts: &[ReceiptFact], moments: Moments) -> Value {
    let seconds = |ago: Duration| ago.as_secs();
    let one = |fact: &ReceiptFact| json!({"kind": fact.kind.name(), "kept_at": moments.ago(fact.ago), "age_seconds": seconds(fact.ago), "said_at": fact.said_at});
    facts.iter().map(one).collect()
}
