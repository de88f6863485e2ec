use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::notification::{DeliveryReceipt, ReceiptFact, ReceiptTaken};
use claimstream_ports::{StoreError, notification::DeliveryReceipts};
use uuid::Uuid;

use crate::outbox::handle::SeaOrmOutbox;

const RECEIPT: &str = "receipt";

#[async_trait]
impl DeliveryReceipts for SeaOrmOutbox {
    async fn take(&self, receipts: &[DeliveryReceipt]) -> Result<Vec<ReceiptTaken>, StoreError> {
        let (rooms, receipts) = (Arc::clone(&self.rooms), receipts.to_vec());
        let take = async move { rooms.notifications.receipts.take(receipts).await };
        self.rooms.db.detached(RECEIPT, take).await
    }

    async fn take_waiting(&self, within: Duration, limit: u32) -> Result<u64, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let take = async move { rooms.notifications.receipts.take_waiting(within, limit).await };
        self.rooms.db.detached(RECEIPT, take).await
    }

    async fn forget_waiting(&self, age: Duration, limit: u32) -> Result<u64, StoreError> {
        let rooms = Arc::clone(&self.rooms);
        let forget = async move { rooms.notifications.receipts.forget_waiting(age, limit).await };
        self.rooms.db.detached(RECEIPT, forget).await
    }

    async fn facts(&self, messages: &[Uuid]) -> Result<Vec<Vec<ReceiptFact>>, StoreError> {
        let (rooms, messages) = (Arc::clone(&self.rooms), messages.to_vec());
        let read = async move { rooms.notifications.receipts.facts(&messages).await };
        self.rooms.db.detached(RECEIPT, read).await
    }
}
