use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::{
    Reason,
    notification::{Answer, provider::ProviderName},
};
use uuid::Uuid;

use crate::StoreError;

/// Remembers which provider was asked to deliver which message, when, and what it answered.
///
/// Implementors owe: what is noted twice, as after a lost answer, is there once; nothing outlives its message by more than a sweep.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait AttemptLog: Send + Sync {
    /// Notes attempts, all of them or none.
    async fn note(&self, attempts: &[DeliveryAttempt]) -> Result<(), StoreError>;

    /// What is known of these messages, by message and then from the oldest attempt on.
    async fn attempts(&self, messages: &[Uuid]) -> Result<Vec<DeliveryAttempt>, StoreError>;
}

/// One provider that was asked to deliver a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryAttempt {
    /// The message.
    pub message: Uuid,
    /// The claim under which it was tried; no two attempts share one.
    pub claim: Uuid,
    /// Which provider of the attempt it was: 1 is the first that was asked.
    pub call: u32,
    /// The attempt's number; a message that is revived begins with 1 again.
    pub number: u32,
    /// The provider.
    pub provider: ProviderName,
    /// How long ago the provider was asked, by the store's clock when it is read.
    pub ago: Duration,
    /// How long its answer took.
    pub took: Duration,
    /// What it answered, and whether it has the message.
    pub answer: Answer,
    /// Why it did not take the message.
    pub reason: Option<Reason>,
    /// Its own name for the delivery, by which its receipts name it; longer ones than
    /// [`DeliveryReceipt::MAX_REFERENCE_BYTES`](claimstream_domain::notification::DeliveryReceipt::MAX_REFERENCE_BYTES) are cut.
    pub reference: Option<String>,
}

impl DeliveryAttempt {
    /// The longest reason that is kept, in bytes; longer ones are cut.
    pub const MAX_REASON_BYTES: usize = 255;
}
