use std::time::Duration;

use async_trait::async_trait;
use claimstream_domain::notification::NotificationMessage;

/// Hands a notification to the outside world.
///
/// Implementors owe: an end in bounded time; the message's id passed on as idempotency key where the other side knows
/// such a thing; an error that says whether trying again can help.
#[async_trait]
pub trait ChannelProvider: Send + Sync {
    /// Delivers one message.
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError>;
}

/// What a provider said when it took a message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delivered {
    /// The provider's own name for the delivery.
    pub reference: Option<String>,
}

/// Why a provider did not take a message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeliveryError {
    /// It never will.
    #[error("{reason}")]
    Permanent {
        /// Why, without secrets.
        reason: String,
    },
    /// It may later.
    #[error("{reason}")]
    Transient {
        /// Why, without secrets.
        reason: String,
        /// How long the provider asked us to wait.
        retry_after: Option<Duration>,
    },
}
