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
        let attempts = attempts.to_vec();
        self.detached(ATTEMPT, move |state| async move { state.notifications.attempts.note(attempts).await })
            .await
    }

    async fn attempts(&self, messages: &[Uuid]) -> Result<Vec<DeliveryAttempt>, StoreError> {
        let messages = messages.to_vec();
        self.detached(
            ATTEMPT,
            move |state| async move { state.notifications.attempts.attempts(&messages).await },
        )
        .await
    }
}

#[async_trait]
impl RateLimiter for SeaOrmOutbox {
    async fn grant(&self, provider: &ProviderName, rate: Rate, wanted: u32) -> Result<Grant, StoreError> {
        let provider = provider.clone();
        self.detached(RATE, move |state| async move {
            state.notifications.rates.grant(&provider, rate, wanted).await
        })
        .await
    }
}
