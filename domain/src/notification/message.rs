use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Channel, Content};

/// One notification for one recipient on one channel, ready to be handed to a provider.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotificationMessage {
    /// The same however often the request is fanned out; providers use it as their idempotency key.
    pub id: Uuid,
    /// The request it came from.
    pub request_id: Uuid,
    /// How it is sent.
    pub channel: Channel,
    /// Whom it is for.
    pub recipient: String,
    /// Where the channel reaches the recipient.
    pub address: String,
    /// What the recipient reads.
    pub content: Content,
}
