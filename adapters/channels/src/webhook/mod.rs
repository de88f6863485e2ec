mod config;
mod endpoint;
mod participant;
mod poster;
mod retry_after;
mod signature;
#[cfg(feature = "tls")]
mod tls;

use std::fmt;

use async_trait::async_trait;
use claimstream_domain::{Invalid, notification::NotificationMessage};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};

pub use config::WebhookConfig;
pub use endpoint::Endpoint;
pub use participant::HttpParticipant;

use self::poster::{Poster, refuse};

/// Posts each message as JSON, to the recipient's own URL or to one gateway.
///
/// The body is `{id, request_id, channel, recipient, address, content}`. The headers are `Idempotency-Key`, the
/// message's id; `X-Claimstream-Timestamp`, the Unix time in seconds of this attempt; and, where there is a secret,
/// `X-Claimstream-Signature: v1=<hex>`, the HMAC-SHA256 of `<timestamp>.<body>`. A receiver checks the signature,
/// refuses timestamps that are minutes old, and drops ids that it has seen.
///
/// | answer | outcome |
/// |---|---|
/// | 2xx | delivered; the header `X-Request-Id` is the reference |
/// | 408, 429, 5xx, no answer in time, no or a broken connection | tried again, no earlier than `Retry-After` says |
/// | any other status, redirects among them; a URL that is none | refused for good |
///
/// It posts to whatever URL a message bears, private networks included: where recipients choose their URLs themselves,
/// let it reach the outside only.
pub struct WebhookChannel {
    poster: Poster,
    config: WebhookConfig,
}

impl WebhookChannel {
    /// A provider with connections of its own; refuses what [`WebhookConfig::check`] refuses.
    pub fn new(config: WebhookConfig) -> Result<Self, Invalid> {
        Ok(Self { poster: Poster::new(&config)?, config })
    }

    fn endpoint(&self, message: &NotificationMessage) -> Result<Endpoint, DeliveryError> {
        let endpoint = match &self.config.gateway {
            Some(gateway) => Ok(gateway.clone()),
            None => message.address.parse::<Endpoint>(),
        };
        let checked = endpoint.and_then(|endpoint| endpoint.check().map(|()| endpoint));
        checked.map_err(|e| DeliveryError::Permanent { reason: e.to_string() })
    }
}

#[async_trait]
impl ChannelProvider for WebhookChannel {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let to = self.endpoint(message)?;
        let body = serde_json::to_vec(message).map_err(|e| refuse(&e))?;
        self.poster.post(&to, &message.id.to_string(), body).await
    }
}

impl fmt::Debug for WebhookChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookChannel").field("config", &self.config).finish_non_exhaustive()
    }
}
