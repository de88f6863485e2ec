use claimstream_domain::notification::{DeliveryStatus, NotificationMessage, NotificationRecord};
use claimstream_ports::Verdicts;

use super::{MessageHandler, asking::Standing, give_back};

/// What is done about messages whose records are missing.
impl MessageHandler {
    /// Restores the records that are missing, by one call for all of them, so that the ends of their messages can be noted and their
    /// requests do not stay open for ever. A message whose request was cancelled meanwhile is not delivered. While the store is away these messages are given back. A record that cannot be restored is
    /// no reason to keep a message back.
    pub(super) async fn restore<'a>(
        &self,
        mut read: Vec<Standing<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<Standing<'a>> {
        let missing = read.iter().filter(|standing| is_missing(standing));
        let records: Vec<_> = missing.map(|(attempt, _)| record(&attempt.message)).collect();
        if records.is_empty() {
            return read;
        }
        match self.messages.restore(&records).await {
            Ok(stand) => {
                let kept = stand.iter().flatten().count();
                tracing::warn!(
                    missing = records.len(),
                    kept,
                    "records of notification messages were missing and are kept again, unless their requests have come to an end"
                );
                for (standing, status) in read.iter_mut().filter(|standing| is_missing(standing)).zip(stand) {
                    standing.1 = Ok(status);
                }
            }
            Err(error) if error.is_about_the_store() => {
                for (attempt, _) in read.extract_if(.., |standing| is_missing(standing)) {
                    give_back(&attempt, &error, verdicts);
                }
            }
            Err(error) => {
                tracing::warn!(count = records.len(), %error, "records of notification messages are missing and cannot be kept");
            }
        }
        read
    }
}

fn is_missing((_, status): &Standing<'_>) -> bool {
    matches!(status, Ok(None))
}

fn record(message: &NotificationMessage) -> NotificationRecord {
    NotificationRecord {
        id: message.id,
        request_id: message.request_id,
        channel: message.channel,
        recipient: message.recipient.clone(),
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    }
}
