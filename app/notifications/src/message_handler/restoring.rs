use claimstream_domain::notification::{DeliveryStatus, NotificationRecord, end_of_step};
use claimstream_ports::{Verdicts, notification::MissingRecord};

use super::{MessageHandler, asking::RecordedAttempt, give_back};
use crate::outcome::MessageAttempt;

/// What is done about messages whose records are missing.
impl MessageHandler {
    /// Restores the records that are missing, by one call for all of them, so that the ends of their messages can be noted and their
    /// requests do not stay open for ever. A message whose request was cancelled meanwhile, or whose recipient was erased, is not delivered.
    ///
    /// While the store is away these messages are given back. One whose record cannot be restored is tried again, and is a dead letter in the end: its recipient may have been
    /// erased.
    pub(super) async fn restore<'a>(
        &self,
        mut read: Vec<RecordedAttempt<'a>>,
        verdicts: &dyn Verdicts,
    ) -> Vec<RecordedAttempt<'a>> {
        let missing: Vec<_> = read.extract_if(.., |standing| is_missing(standing)).collect();
        if missing.is_empty() {
            return read;
        }
        let attempts: Vec<MessageAttempt<'a>> = missing.into_iter().map(|(attempt, _)| attempt).collect();
        let records: Vec<_> = attempts.iter().map(missing_record).collect();
        match self.messages.restore(&records).await {
            Ok(stand) => {
                warn(&stand);
                read.extend(attempts.into_iter().zip(stand.into_iter().map(Ok)));
            }
            Err(error) if error.is_about_the_store() => {
                attempts.iter().for_each(|attempt| give_back(attempt, &error, verdicts));
            }
            Err(error) if attempts.len() == 1 => read.extend(attempts.into_iter().zip([Err(error)])),
            Err(_) => {
                for (attempt, record) in attempts.into_iter().zip(records) {
                    let stand = self.messages.restore(&[record]).await;
                    read.push((attempt, stand.map(|all| all.into_iter().next().flatten())));
                }
            }
        }
        read
    }
}

fn is_missing((_, status): &RecordedAttempt<'_>) -> bool {
    matches!(status, Ok(None))
}

fn warn(stand: &[Option<DeliveryStatus>]) {
    let count = |wanted: DeliveryStatus| stand.iter().flatten().filter(|status| **status == wanted).count();
    tracing::warn!(
        missing = stand.len(),
        kept = stand.iter().flatten().count(),
        cancelled = count(DeliveryStatus::Cancelled),
        "records of notification messages were missing and are kept again, unless their requests have come to an end"
    );
}

fn missing_record(attempt: &MessageAttempt<'_>) -> MissingRecord {
    let message = &attempt.message;
    let record = NotificationRecord {
        id: message.id,
        request_id: message.request_id,
        channel: message.channel,
        recipient: message.recipient.clone(),
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    };
    MissingRecord { record, end: end_of_step(attempt.claimed.message.payload.bytes()) }
}
