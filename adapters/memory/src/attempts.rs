use async_trait::async_trait;
use claimstream_domain::{
    Timestamp,
    notification::{
        DeliveryReceipt,
        provider::{Grant, ProviderName, Rate},
    },
};
use claimstream_ports::{
    StoreError,
    notification::{AttemptLog, DeliveryAttempt, RateLimiter},
};
use std::time::Duration;
use uuid::Uuid;

use crate::{store::MemoryStore, tables::AttemptRow};

#[async_trait]
impl AttemptLog for MemoryStore {
    async fn note(&self, attempts: &[DeliveryAttempt]) -> Result<(), StoreError> {
        let now = self.database.now();
        let mut tables = self.database.tables();
        let all = &mut tables.notifications.attempts;
        for attempt in attempts {
            let key = |one: &DeliveryAttempt| (one.message, one.claim, one.call);
            if !all.iter().any(|known| key(&known.attempt) == key(attempt)) {
                let began_at = micros(now).saturating_sub_unsigned(attempt.ago.as_micros() as u64);
                let mut attempt = attempt.clone();
                if let Some(reference) = &mut attempt.reference {
                    reference.truncate(reference.floor_char_boundary(DeliveryReceipt::MAX_REFERENCE_BYTES));
                }
                all.push(AttemptRow { attempt, began_at });
            }
        }
        Ok(())
    }

    async fn attempts(&self, messages: &[Uuid]) -> Result<Vec<DeliveryAttempt>, StoreError> {
        let now = micros(self.database.now());
        let tables = self.database.tables();
        let mut found: Vec<&AttemptRow> = tables
            .notifications
            .attempts
            .iter()
            .filter(|row| messages.contains(&row.attempt.message))
            .collect();
        found.sort_by_key(|row| (row.attempt.message, row.began_at, row.attempt.call));
        let read = |row: &AttemptRow| {
            let ago = u64::try_from(now.saturating_sub(row.began_at)).unwrap_or_default();
            DeliveryAttempt { ago: Duration::from_micros(ago), ..row.attempt.clone() }
        };
        Ok(found.into_iter().map(read).collect())
    }
}

#[async_trait]
impl RateLimiter for MemoryStore {
    async fn grant(&self, provider: &ProviderName, rate: Rate, wanted: u32) -> Result<Grant, StoreError> {
        let now = u64::try_from(micros(self.database.now())).unwrap_or_default();
        let mut tables = self.database.tables();
        let schedule = tables.notifications.rates.entry(provider.clone()).or_default();
        let (after, grant) = schedule.grant(rate, now, wanted);
        *schedule = after;
        Ok(grant)
    }
}

fn micros(at: Timestamp) -> i64 {
    at.as_micros()
}
