use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::notification::provider::{Grant, ProviderName, Rate};
use claimstream_ports::{
    StoreError,
    notification::{AttemptLog, DeliveryAttempt, RateLimiter},
};
use uuid::Uuid;

use crate::outbox::handle::SeaOrmOutbox;

const ATTEMPT: &str = "notification attempt";
const RATE: &str = "provider rate";

#[async_trait]
impl AttemptLog for SeaOrmOutbox {
    async fn note(&self, attempts: &[DeliveryAttempt]) -> Result<(), StoreError> {
        let (log, attempts) = (Arc::clone(&self.rooms.notifications.attempts), attempts.to_vec());
        self.rooms.db.detached(ATTEMPT, async move { log.note(attempts).await }).await
    }

    async fn attempts(&self, messages: &[Uuid]) -> Result<Vec<DeliveryAttempt>, StoreError> {
        let (log, messages) = (Arc::clone(&self.rooms.notifications.attempts), messages.to_vec());
        self.rooms.db.detached(ATTEMPT, async move { log.attempts(&messages).await }).await
    }
}

#[async_trait]
impl RateLimiter for SeaOrmOutbox {
    async fn grant(&self, provider: &ProviderName, rate: Rate, wanted: u32) -> Result<Grant, StoreError> {
        let (rates, provider) = (Arc::clone(&self.rooms.notifications.rates), provider.clone());
        self.rooms.db.detached(RATE, async move { rates.grant(&provider, rate, wanted).await }).await
    }
}
