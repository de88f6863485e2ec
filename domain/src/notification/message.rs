use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Channel, Content, Priority, Sender,
    consent::{Category, TimeZone},
};
use crate::Timestamp;

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
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// Where the recipient can opt out of the category on this channel; mail says so in its headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribe_url: Option<String>,
    /// The zone of the recipient's quiet hours, where the directory knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<TimeZone>,
    /// What the recipient reads.
    pub content: Content,
    /// The sender, in place of the one that the provider was set up with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sender>,
    /// Not to be delivered after this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The key of the digest that it stands for, if it does: its text is written of the digest's items when it is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Uuid>,
    /// The trace that its delivery belongs to, which goes with it to providers over HTTP. Its message in the outbox has it in its headers.
    ///
    /// Source: W3C Trace Context, section 3.2.
    #[serde(skip)]
    pub traceparent: Option<String>,
}
