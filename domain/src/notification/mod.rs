//! Notification requests, the messages they fan out into, and how both are judged.

mod address_rule;
mod answer;
mod channel;
pub mod consent;
mod content;
pub mod digest;
mod directory_entry;
mod erasure;
mod fan_out;
mod fan_out_end;
mod in_app;
mod inbox_token;
mod message;
mod network;
mod outbox;
mod priority;
mod progress;
pub mod provider;
mod receipt;
mod receipt_counts;
mod recipient;
mod recipient_attributes;
mod request;
mod segment_place;
mod sender;
mod shown;
mod signed_text;
mod status;
mod submitted;
mod template;

pub use address_rule::{AddressKind, AddressRule, RefusedAddress};
pub use answer::{
    Acceptance, Answer, AnswerClass, AnswerRow, AnswerTable, Fault, Judgement, ProviderAnswer, SmtpStage,
};
pub use channel::Channel;
pub use content::{Attachment, Content};
pub use directory_entry::DirectoryEntry;
pub use erasure::{ERASED, addresses_of, recipient_hash, spellings_in, spellings_of};
pub use fan_out::{FanOut, NotificationRecord, fan_out, message_id};
pub use fan_out_end::FanOutEnd;
pub use in_app::{InAppEntry, InAppPage, NewInAppEntry};
pub use inbox_token::{InboxKeys, InboxToken};
pub use message::NotificationMessage;
pub use network::Network;
pub use outbox::{
    delivery_message, delivery_message_of, end_of_step, fan_out_message, repair_message, request_message,
};
pub use priority::{MESSAGE_QUEUE, Priority, REQUEST_QUEUE};
pub use progress::Progress;
pub use receipt::{DeliveryReceipt, ReceiptFact, ReceiptKind, ReceiptOf, ReceiptTaken};
pub use receipt_counts::ReceiptCounts;
use recipient::DIRECT;
pub use recipient::{DirectRecipient, Recipient, RecipientReference};
pub use recipient_attributes::Attributes;
pub use request::{NotificationRequest, Requester, RequesterKind};
pub use segment_place::SegmentPlace;
pub use sender::Sender;
pub use status::{DeliveryStatus, RequestStatus};
pub use submitted::Submitted;
pub use template::{
    Template, TemplateCall, TemplateFault, TemplatePart, TemplateText, TemplateVariable, TemplateVersion,
};
