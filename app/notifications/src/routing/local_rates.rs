use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use claimstream_domain::notification::provider::{Grant, ProviderName, Rate, TokenSchedule};
use claimstream_ports::{StoreError, Timer, notification::RateLimiter};

/// The rates of one process that shares them with no other.
#[derive(Clone)]
pub struct LocalRates {
    timer: Arc<dyn Timer>,
    schedules: Arc<Mutex<HashMap<ProviderName, TokenSchedule>>>,
}

impl LocalRates {
    /// Rates by the clock of this timer.
    pub fn new(timer: Arc<dyn Timer>) -> Self {
        Self { timer, schedules: Arc::default() }
    }
}

#[async_trait]
impl RateLimiter for LocalRates {
    async fn grant(&self, provider: &ProviderName, rate: Rate, wanted: u32) -> Result<Grant, StoreError> {
        let now = u64::try_from(self.timer.now().as_micros()).unwrap_or(u64::MAX);
        let mut schedules = self.schedules.lock().unwrap_or_else(PoisonError::into_inner);
        let schedule = schedules.entry(provider.clone()).or_default();
        let (after, grant) = schedule.grant(rate, now, wanted);
        *schedule = after;
        Ok(grant)
    }
}

impl fmt::Debug for LocalRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRates").finish_non_exhaustive()
    }
}
