mod config;
mod endpoint;
mod participant;
mod poster;
mod signature;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use claimstream_domain::{Invalid, notification::NotificationMessage};
use claimstream_ports::{
    Timer,
    notification::{ChannelProvider, Delivered, DeliveryError},
};

pub use config::WebhookConfig;
pub use endpoint::Endpoint;
pub use participant::HttpParticipant;

pub(crate) use self::poster::{Poster, refuse};

/// Posts each message as JSON, to the recipient's own URL or to one gateway.
///
/// The body is `{id, request_id, channel, recipient, address, content}` of the message [as it is shown](NotificationMessage::shown), and
/// the header `Idempotency-Key` is the message's id.
/// The other headers are those of [Standard Webhooks](https://www.standardwebhooks.com/): `webhook-id`, the message's id;
/// `webhook-timestamp`, the Unix time in seconds of this attempt; and, where there is a secret, `webhook-signature: v1,<base64>`,
/// the HMAC-SHA256 of `<id>.<timestamp>.<body>`. A secret that begins with `whsec_` is the key in base64; any other is the key
/// itself. A receiver checks the signature, refuses timestamps that are minutes old, and drops ids that it has seen.
///
/// Receivers that know no Standard Webhooks find `X-Claimstream-Timestamp`, the same time, and
/// `X-Claimstream-Signature: v1=<hex>`, the HMAC-SHA256 of `<timestamp>.<body>` under the secret as it is written.
///
/// | answer | outcome |
/// |---|---|
/// | 2xx | delivered; the header `X-Request-Id` is the reference |
/// | 408, 425, 503 | transient: tried again, no earlier than `Retry-After` says |
/// | 429 | throttled: tried again, no earlier than `Retry-After` says |
/// | other 5xx, no answer in time, a connection that broke | transient, and whether the message was accepted is unknown |
/// | no connection, an unknown host | the provider is down, and the message was not accepted |
/// | 410 from a recipient's own URL | refused for good, and the URL is suppressed as bounced |
/// | 410 from the gateway; a URL that is none | permanent: refused for good |
/// | any other status of a recipient's own URL, redirects among them | deferred: tried again, and it says nothing of others |
/// | 3xx, 401, 402, 403, 404, 405 or 407 of the gateway | our configuration's fault: tried again, and it counts against the gateway |
/// | any other 4xx of the gateway | deferred |
///
/// Rows of [`WebhookConfig::answers`] come before these.
///
/// A URL that a message bears leads to public addresses alone, unless [`WebhookConfig::reach`] opens more; that is judged by the
/// address which is connected to. The gateway may be anywhere.
pub struct WebhookChannel {
    poster: Poster,
    config: WebhookConfig,
}

impl WebhookChannel {
    /// A provider with connections of its own; refuses what [`WebhookConfig::check`] refuses.
    pub fn new(config: WebhookConfig) -> Result<Self, Invalid> {
        Ok(Self { poster: Poster::new(&config)?, config })
    }

    /// Waits for answers by this timer in place of tokio's clock.
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.poster.client.timer = timer;
        self
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
        let body = serde_json::to_vec(&*message.shown()).map_err(|e| refuse(&e))?;
        self.poster.deliver(&to, &message.id.to_string(), message.traceparent.as_deref(), body).await
    }
}

impl fmt::Debug for WebhookChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookChannel").field("config", &self.config).finish_non_exhaustive()
    }
}
