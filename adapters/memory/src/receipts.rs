use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{
    MessageId, Timestamp,
    notification::{
        Channel, DeliveryReceipt, ERASED, NotificationMessage, ReceiptFact, ReceiptOf, ReceiptTaken,
        consent::Address,
    },
};
use claimstream_ports::{StoreError, notification::DeliveryReceipts};
use uuid::Uuid;

use crate::{
    clock::between,
    database::corrupt,
    store::MemoryStore,
    tables::{FactRow, Tables, WaitingRow},
};

#[async_trait]
impl DeliveryReceipts for MemoryStore {
    async fn take(&self, receipts: &[DeliveryReceipt]) -> Result<Vec<ReceiptTaken>, StoreError> {
        let checked = receipts.iter().cloned().map(DeliveryReceipt::checked).collect::<Result<Vec<_>, _>>();
        let receipts = checked.map_err(|invalid| corrupt("receipt", invalid))?;
        let (now, mut tables) = (self.database.now(), self.database.tables());
        Ok(receipts.into_iter().map(|receipt| taken(&mut tables, receipt, now, now)).collect())
    }

    async fn take_waiting(&self, within: Duration, limit: u32) -> Result<u64, StoreError> {
        let (now, mut tables) = (self.database.now(), self.database.tables());
        let fits = |row: &WaitingRow| between(row.seen_at, now) <= within && is_noted(&tables, &row.receipt);
        let all = &tables.notifications.waiting;
        let found: Vec<_> = all.iter().filter(|row| fits(row)).take(limit as usize).cloned().collect();
        tables.notifications.waiting.retain(|row| !found.contains(row));
        let kept = found
            .into_iter()
            .map(|WaitingRow { receipt, seen_at }| taken(&mut tables, receipt, seen_at, now));
        Ok(kept.filter(|taken| *taken == ReceiptTaken::New).count() as u64)
    }

    async fn forget_waiting(&self, age: Duration, limit: u32) -> Result<u64, StoreError> {
        let (now, mut tables) = (self.database.now(), self.database.tables());
        let mut forgotten = 0;
        tables.notifications.waiting.retain(|row| {
            let goes = forgotten < u64::from(limit) && between(row.seen_at, now) > age;
            forgotten += u64::from(goes);
            !goes
        });
        Ok(forgotten)
    }

    async fn facts(&self, messages: &[Uuid]) -> Result<Vec<Vec<ReceiptFact>>, StoreError> {
        let (now, tables) = (self.database.now(), self.database.tables());
        let shown = |row: &FactRow| ReceiptFact {
            kind: row.kind,
            ago: between(row.seen_at, now),
            said_at: row.said_at.clone(),
        };
        let of = |id: &Uuid| {
            let mut rows: Vec<&FactRow> =
                tables.notifications.receipts.iter().filter(|row| row.message == *id).collect();
            rows.sort_by_key(|row| (row.seen_at, row.kind));
            rows.into_iter().map(shown).collect()
        };
        Ok(messages.iter().map(of).collect())
    }
}

/// Keeps a receipt with its message, if that is known.
fn taken(tables: &mut Tables, receipt: DeliveryReceipt, seen_at: Timestamp, now: Timestamp) -> ReceiptTaken {
    let message = match &receipt.of {
        ReceiptOf::Message(id) => *id,
        ReceiptOf::Reference(reference) => {
            match tables.notifications.delivered_as(&receipt.provider, reference) {
                Some(id) => id,
                None => {
                    suppress_alone(tables, &receipt, now);
                    let receipt = DeliveryReceipt { channel: None, ..receipt };
                    tables.notifications.wait(WaitingRow { receipt, seen_at });
                    return ReceiptTaken::Waiting;
                }
            }
        }
    };
    let Some(record) = tables.notifications.messages.get(&message) else {
        suppress_alone(tables, &receipt, now);
        return ReceiptTaken::Unknown;
    };
    let (channel, is_erased) = (record.channel, record.recipient == ERASED);
    if is_erased {
        // Nothing is kept of an erased recipient, but a hash that keeps its address from being written to.
        if let Some(address) = suppress(tables, message, channel, receipt, now) {
            tables.consents.forget_owner(&[address]);
        }
        return ReceiptTaken::Unknown;
    }
    let fact = FactRow { message, kind: receipt.kind, seen_at, said_at: receipt.said_at.clone() };
    if !tables.notifications.say(fact) {
        return ReceiptTaken::Known;
    }
    if let Some(address) = suppress(tables, message, channel, receipt, now) {
        tables.consents.spell(address);
    }
    ReceiptTaken::New
}

fn is_noted(tables: &Tables, receipt: &DeliveryReceipt) -> bool {
    match &receipt.of {
        ReceiptOf::Message(_) => true,
        ReceiptOf::Reference(reference) => {
            tables.notifications.delivered_as(&receipt.provider, reference).is_some()
        }
    }
}

/// Suppresses the address of a receipt whose message has no record. It may be that of an erased recipient, so a new row does not spell it.
fn suppress_alone(tables: &mut Tables, receipt: &DeliveryReceipt, now: Timestamp) {
    let Some((address, reason)) = receipt.suppresses_alone() else { return };
    let is_new = tables.consents.suppression(&address).is_none();
    tables.consents.suppress(&address, reason, None, now);
    if is_new {
        tables.consents.forget_owner(&[address]);
    }
}

/// Suppresses the address of a receipt that says so, and answers it.
fn suppress(
    tables: &mut Tables,
    message: Uuid,
    channel: Channel,
    receipt: DeliveryReceipt,
    now: Timestamp,
) -> Option<Address> {
    let reason = receipt.kind.suppresses()?;
    let payload = || {
        let payload = tables.outbox.payload(MessageId::new(message))?;
        let message: NotificationMessage = serde_json::from_slice(payload.bytes()).ok()?;
        Some(message.address).filter(|address| !address.is_empty() && address != ERASED)
    };
    let address = Address::new(channel, &receipt.address.or_else(payload)?);
    tables.consents.suppress(&address, reason, receipt.note, now);
    Some(address)
}
