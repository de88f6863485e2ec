use claimstream_domain::notification::NotificationRecord;
use claimstream_ports::{
    StoreError,
    notification::{AttemptLog, DeliveryAttempt},
};
use claimstream_sea_orm::SeaOrmOutbox;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    moments::Moments,
    table::{Column, Table},
};

/// The attempts at messages, by message and from the oldest on.
pub(super) async fn of(
    outbox: &SeaOrmOutbox,
    messages: &[NotificationRecord],
) -> Result<Vec<DeliveryAttempt>, StoreError> {
    let ids: Vec<Uuid> = messages.iter().map(|message| message.id).collect();
    outbox.attempts(&ids).await
}

/// A line for each provider that was asked.
pub(super) fn table(attempts: &[DeliveryAttempt]) -> Table<8> {
    let columns =
        ["MESSAGE", "ATTEMPT", "PROVIDER", "AGO", "TOOK", "ANSWER", "ACCEPTANCE", "REASON"].map(Column::Text);
    let mut table = Table::new(columns);
    for attempt in attempts {
        table.row([
            attempt.message.to_string(),
            attempt.number.to_string(),
            attempt.provider.to_string(),
            format!("{:.1}s", attempt.ago.as_secs_f64()),
            format!("{}ms", attempt.took.as_millis()),
            attempt.answer.class.to_string(),
            attempt.answer.acceptance.to_string(),
            attempt.reason.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    table
}

/// The same for programs.
pub(super) fn as_value(attempts: &[DeliveryAttempt], moments: Moments) -> Value {
    let attempt = |attempt: &DeliveryAttempt| {
        json!({
            "message": attempt.message.to_string(),
            "attempt": attempt.number,
            "provider": attempt.provider.as_str(),
            "began_at": moments.ago(attempt.ago),
            "ago_ms": u64::try_from(attempt.ago.as_millis()).unwrap_or(u64::MAX),
            "took_ms": u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
            "answer": attempt.answer.class.name(),
            "acceptance": attempt.answer.acceptance.name(),
            "reason": attempt.reason.as_ref().map(|reason| reason.as_str()),
        })
    };
    attempts.iter().map(attempt).collect()
}
