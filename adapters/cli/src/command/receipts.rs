use std::time::Duration;

use claimstream_domain::notification::{NotificationRecord, ReceiptFact, ReceiptKind};
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

/// All receipts of a message.
pub(super) fn as_value(facts: &[ReceiptFact], moments: Moments) -> Value {
    let seconds = |ago: Duration| ago.as_secs();
    let one = |fact: &ReceiptFact| json!({"kind": fact.kind.name(), "kept_at": moments.ago(fact.ago), "age_seconds": seconds(fact.ago), "said_at": fact.said_at});
    facts.iter().map(one).collect()
}
