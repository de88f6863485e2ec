//! Notification requests, the messages they fan out into, and how both are judged.

mod channel;
mod content;
mod fan_out;
mod fan_out_end;
mod message;
mod outbox;
mod recipient;
mod request;
mod status;

pub use channel::Channel;
pub use content::{Content, Template, TemplateCall};
pub use fan_out::{FanOut, NotificationRecord, fan_out, message_id};
pub use fan_out_end::FanOutEnd;
pub use message::NotificationMessage;
pub use outbox::{MESSAGE_QUEUE, REQUEST_QUEUE, delivery_message, fan_out_message, request_message};
pub use recipient::{DirectRecipient, Recipient, RecipientReference};
pub use request::{NotificationRequest, Requester, RequesterKind};
pub use status::{DeliveryStatus, Progress, RequestStatus};
