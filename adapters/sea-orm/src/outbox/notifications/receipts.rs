use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::{DeliveryReceipt, ReceiptFact, ReceiptTaken};
use claimstream_ports::{StoreError, notification::DeliveryReceipts};
use uuid::Uuid;

use crate::outbox::handle::SeaOrmOutbox;

const RECEIPT: &str = "receipt";

#[async_trait]
impl DeliveryReceipts for SeaOrmOutbox {
    async fn take(&self, receipts: &[DeliveryReceipt]) -> Result<Vec<ReceiptTaken>, StoreError> {
        let receipts = receipts.to_vec();
        self.detached(RECEIPT, move |state| async move { state.notifications.receipts.take(receipts).await })
            .await
    }

    async fn take_waiting(&self, within: Duration, limit: u32) -> Result<u64, StoreError> {
        self.detached(RECEIPT, move |state| async move {
            state.notifications.receipts.take_waiting(within, limit).await
        })
        .await
    }

    async fn forget_waiting(&self, age: Duration, limit: u32) -> Result<u64, StoreError> {
        self.detached(RECEIPT, move |state| async move {
            state.notifications.receipts.forget_waiting(age, limit).await
        })
        .await
    }

    async fn facts(&self, messages: &[Uuid]) -> Result<Vec<Vec<ReceiptFact>>, StoreError> {
        let messages = messages.to_vec();
        self.detached(
            RECEIPT,
            move |state| async move { state.notifications.receipts.facts(&messages).await },
        )
        .await
    }
}
