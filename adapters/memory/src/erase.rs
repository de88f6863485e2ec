use async_trait::async_trait;
use claimstream_domain::{
    MessageId, Reason,
    notification::{
        DeliveryStatus, ERASED, NotificationMessage, NotificationRecord, Recipient, addresses_of,
        delivery_message,
    },
};
use claimstream_ports::{
    StoreError,
    notification::{EraseRecipient, Erased},
};

use crate::{database::corrupt, store::MemoryStore, tables::Tables};

#[async_trait]
impl EraseRecipient for MemoryStore {
    async fn erase(&self, recipient: &str) -> Result<Erased, StoreError> {
        let mut erased = Erased::default();
        let Tables { notifications, outbox, in_app, people, consents, .. } = &mut *self.database.tables();
        let user = Recipient::user_of_key(recipient);
        let entry = user.and_then(|id| people.user(id).cloned());
        consents.forget_owner(&addresses_of(recipient, entry.as_ref()));
        consents.preferences.remove(recipient);
        user.map(|id| people.remove(id));
        for row in notifications.requests.values_mut() {
            if let Some(without) = row.request.without(recipient) {
                row.request = without;
                erased.requests += 1;
            }
        }
        let mut gone: Vec<NotificationRecord> = Vec::new();
        for record in notifications.messages.values_mut().filter(|record| record.recipient == recipient) {
            *record = record.clone().erased();
            if record.status == DeliveryStatus::Pending {
                record.status = DeliveryStatus::Cancelled;
            }
            gone.push(record.clone());
        }
        erased.records = gone.len() as u64;
        let is_gone = |id| gone.iter().any(|record| record.id == id);
        in_app.forget(usize::MAX, |row| is_gone(row.entry.id) || Some(row.entry.user.as_str()) == user);
        for attempt in notifications.attempts.iter_mut().map(|row| &mut row.attempt) {
            if is_gone(attempt.message) {
                attempt.reason = attempt.reason.take().map(|_| Reason::new(ERASED));
                attempt.reference = None;
            }
        }
        notifications.receipts.retain(|row| !is_gone(row.message));
        notifications.digests.forget(is_gone);
        for record in gone {
            let left = NotificationMessage::erased(record.id, record.request_id, record.channel);
            let payload = delivery_message(&left).map_err(|e| corrupt("erase", e))?.payload;
            let (bodies, dead_letters) = outbox.replace(MessageId::new(record.id), &payload);
            (erased.bodies, erased.dead_letters) =
                (erased.bodies + bodies, erased.dead_letters + dead_letters);
        }
        Ok(erased)
    }
}
