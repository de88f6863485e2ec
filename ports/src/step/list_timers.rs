use async_trait::async_trait;
use claimstream_domain::timer_event::{TimerPage, TimerPlace};

use crate::StoreError;

/// Shows people the timers of a database, by the messages that their ticks had; no decision is made by it.
///
/// Implementors owe: pages that follow each other name each scheme of each queue once, by queue and scheme, with its newest occurrence; a call
/// reads a bounded number of keys, so a page may have few timers, or none, and still name a next one. A timer whose last message ended longer
/// ago than dedup keys are kept may be missing.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait ListTimers: Send + Sync {
    /// The timers that stand behind `after`, at most `limit`.
    async fn timers(&self, after: Option<TimerPlace>, limit: u32) -> Result<TimerPage, StoreError>;
}
