use async_trait::async_trait;
use claimstream_domain::{
    MessageId, Reason,
    notification::{
        DeliveryStatus, ERASED, NotificationMessage, NotificationRecord, Recipient, consent::Address,
        delivery_message, recipient_hash, spellings_in, spellings_of,
    },
};
use claimstream_ports::{
    StoreError,
    notification::{EraseRecipient, Erased},
};

use crate::{database::corrupt, store::MemoryStore, tables::Tables};

#[async_trait]
impl EraseRecipient for MemoryStore {
    async fn erase(&self, recipient: &str, addresses: &[Address]) -> Result<Erased, StoreError> {
        let mut erased = Erased::default();
        let now = self.database.now();
        let tables = &mut *self.database.tables();
        let Tables { notifications, in_app, people, consents, .. } = tables;
        notifications.erased.insert(recipient_hash(recipient), now);
        let user = Recipient::user_of_key(recipient);
        let entry = user.and_then(|id| people.user(id).cloned());
        consents.forget_owner(&spellings_of(recipient, entry.as_ref()));
        consents.forget_owner(addresses);
        consents.preferences.remove(recipient);
        user.map(|id| people.remove(id));
        for row in notifications.requests.values_mut() {
            if let Some(without) = row.request.without(recipient) {
                row.request = without;
                erased.requests += 1;
            }
        }
        in_app.forget(usize::MAX, |row| Some(row.entry.user.as_str()) == user);
        let records = notifications.messages.values().filter(|record| record.recipient == recipient);
        let gone: Vec<NotificationRecord> = records.cloned().collect();
        erased.records = gone.len() as u64;
        (erased.bodies, erased.dead_letters) = tables.leave_frames(&gone)?;
        Ok(erased)
    }
}

impl Tables {
    /// Leaves of records and their messages that they were there and how they ended; what was pending is cancelled. Answers how many payloads of
    /// live messages and of dead letters it has replaced.
    pub(crate) fn leave_frames(&mut self, records: &[NotificationRecord]) -> Result<(u64, u64), StoreError> {
        let Self { notifications, outbox, in_app, consents, .. } = self;
        let is_gone = |id| records.iter().any(|record| record.id == id);
        for record in notifications.messages.values_mut().filter(|record| is_gone(record.id)) {
            *record = record.clone().erased();
            if record.status == DeliveryStatus::Pending {
                record.status = DeliveryStatus::Cancelled;
            }
        }
        in_app.forget(usize::MAX, |row| is_gone(row.entry.id));
        for attempt in notifications.attempts.iter_mut().map(|row| &mut row.attempt) {
            if is_gone(attempt.message) {
                attempt.reason = attempt.reason.take().map(|_| Reason::new(ERASED));
                attempt.reference = None;
            }
        }
        for record in records {
            for payload in outbox.payloads(MessageId::new(record.id)) {
                consents.forget_owner(&spellings_in(payload.bytes()));
            }
            if let Some(message) = notifications.digests.message(record.id) {
                consents.forget_owner(&Address::spellings(message.channel, &message.address));
            }
        }
        notifications.receipts.retain(|row| !is_gone(row.message));
        notifications.digests.forget(is_gone);
        let mut replaced = (0, 0);
        for record in records {
            let left = NotificationMessage::erased(record.id, record.request_id, record.channel);
            let payload = delivery_message(&left).map_err(|e| corrupt("erase", e))?.payload;
            let (live, dead) = outbox.replace(MessageId::new(record.id), &payload);
            replaced = (replaced.0 + live, replaced.1 + dead);
        }
        Ok(replaced)
    }
}
