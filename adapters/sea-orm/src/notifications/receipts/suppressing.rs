use std::sync::Arc;

use claimstream_domain::notification::{
    DeliveryReceipt, ERASED, NotificationMessage,
    consent::{Address, Suppression},
};
use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::{LockedRecord, RECEIPT, ReceiptRows};
use crate::{
    database::{
        args::bytes,
        unit::{rows, run},
    },
    notifications::suppressions::{Spelling, SuppressionRows, hash},
};

/// An address that is suppressed with a receipt.
pub(super) struct Suppressed<'a> {
    address: Address,
    reason: Suppression,
    note: Option<&'a str>,
    spelling: Spelling,
    /// Whether its owner was erased: only a hash is kept.
    is_erased: bool,
}

/// Addresses that bounced.
impl ReceiptRows {
    /// The address that must not be written to after a receipt.
    pub(super) async fn suppressed<'a>(
        &self,
        on: &impl ConnectionTrait,
        message: Uuid,
        record: LockedRecord,
        receipt: &'a DeliveryReceipt,
    ) -> Result<Option<Suppressed<'a>>, StoreError> {
        let Some(reason) = receipt.kind.suppresses() else { return Ok(None) };
        let LockedRecord { channel, is_erased } = record;
        let address = match &receipt.address {
            Some(address) => Some(address.clone()),
            None => self.address(on, message).await?,
        };
        let Some(address) = address else {
            tracing::warn!(%message, %reason, "no address is suppressed: neither the receipt nor a kept payload names it");
            return Ok(None);
        };
        let address = Address::new(channel, &address);
        let spelling = if is_erased { Spelling::Never } else { Spelling::Always };
        let note = receipt.note.as_deref();
        Ok(Some(Suppressed { address, reason, note, spelling, is_erased }))
    }

    /// The same after a receipt whose message has no record. It may be that of an erased recipient, so a new row does not spell the address.
    pub(super) fn suppressed_alone(receipt: &DeliveryReceipt) -> Option<Suppressed<'_>> {
        let (address, reason) = receipt.suppresses_alone()?;
        Some(Suppressed { address, reason, note: None, spelling: Spelling::Never, is_erased: false })
    }

    /// The address of a message whose payload is kept.
    async fn address(&self, on: &impl ConnectionTrait, message: Uuid) -> Result<Option<String>, StoreError> {
        let args = self.db.args().with("id", bytes(message));
        let found = rows(on, RECEIPT, self.db.sql.receipts.payload.bind(&args)).await?;
        let payload = found.first().map(|row| row.bytes("payload")).transpose()?;
        let read = |payload: Vec<u8>| serde_json::from_slice::<NotificationMessage>(&payload).ok();
        let address = payload.and_then(read).map(|message| message.address);
        Ok(address.filter(|address| !address.is_empty() && address != ERASED))
    }

    /// Suppresses addresses by their keys, so that two calls with the same ones do not lock each other out.
    pub(super) async fn suppress(
        &self,
        on: &impl ConnectionTrait,
        mut suppressed: Vec<Suppressed<'_>>,
    ) -> Result<(), StoreError> {
        suppressed.sort_by_key(|one| *one.address.fingerprint().as_bytes());
        let rows = SuppressionRows { db: Arc::clone(&self.db) };
        for Suppressed { address, reason, note, spelling, .. } in &suppressed {
            run(on, RECEIPT, rows.suppressing(address, *reason, *note, *spelling)).await?;
            tracing::info!(channel = %address.channel(), %reason, "notification.address.suppressed");
        }
        let erased = suppressed.iter().filter(|one| one.is_erased);
        let erased: Vec<_> = erased.map(|one| hash(&one.address.fingerprint())).collect();
        if !erased.is_empty() {
            let args = self.db.args().with("erased", ERASED).with_list("addresses", erased);
            run(on, RECEIPT, self.db.sql.preferences.forget_owner.bind(&args)).await?;
        }
        Ok(())
    }
}
