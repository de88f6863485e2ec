//! The two notification pipelines: requests into messages, messages to providers.
//!
//! | queue | handler | what an accepted verdict leaves behind |
//! |---|---|---|
//! | [`REQUEST_QUEUE`] | [`RequestHandler`] | records for all recipients and channels, messages for those to be sent |
//! | [`MESSAGE_QUEUE`] | [`MessageHandler`] | the message with its provider, and its record settled |
//!
//! A request is fanned out in chunks. Each chunk is one outbox message that carries a
//! [`FanOut`](claimstream_domain::notification::FanOut) checkpoint, and finishing it enqueues its notifications and the
//! next checkpoint in one transaction. All ids are made from the request's id, so a chunk that is handled again, after
//! whatever crash, records and enqueues nothing twice.
//!
//! Delivery is at least once: a provider may get the same message again, always under the same id.
#![forbid(unsafe_code)]

mod alone;
mod cached_directory;
mod chunk;
mod consents;
mod digests;
mod fan_out_attempt;
mod groups;
mod in_app;
mod message_config;
mod message_handler;
mod outcome;
mod question;
mod reading;
mod request_config;
mod request_handler;
mod routing;
mod templates;
#[cfg(test)]
mod tests;
mod unsubscribe;
mod unwinding;
mod writer;

pub use cached_directory::CachedDirectory;
pub use consents::Consents;
pub use digests::Digests;
pub use in_app::InAppProvider;
pub use message_config::MessageConfig;
pub use message_handler::MessageHandler;
pub use request_config::RequestConfig;
pub use request_handler::RequestHandler;
pub use routing::{LocalRates, NamedProvider, ProviderLimits, ProviderState, Providers, Route};
pub use templates::{
    CachedTemplates, CompiledTemplate, CompiledTemplates, Edition, Published, TemplateAge, TemplateEditError,
    TemplateEditor,
};
pub use unsubscribe::{UnsubscribeError, UnsubscribeLinks, Unsubscribing};

pub use claimstream_domain::notification::consent;
pub use claimstream_domain::notification::digest::{DigestItem, DigestRule, DigestRules};
pub use claimstream_domain::notification::provider::{
    AfterUnknown, BreakerPolicy, BreakerState, ProviderName, Rate, Selection,
};
pub use claimstream_domain::notification::{
    Acceptance, Answer, AnswerClass, Attachment, Attributes, Channel, Content, DeliveryReceipt,
    DeliveryStatus, DirectRecipient, DirectoryEntry, MESSAGE_QUEUE, NotificationMessage, NotificationRequest,
    Priority, Progress, REQUEST_QUEUE, ReceiptCounts, ReceiptFact, ReceiptKind, ReceiptOf, ReceiptTaken,
    Recipient, RecipientReference, RequestStatus, Requester, RequesterKind, SegmentPlace, Sender, Submitted,
    Template, TemplateCall, TemplateFault, TemplatePart, TemplateText, TemplateVariable, TemplateVersion,
};
pub use claimstream_ports::notification::{
    AttemptLog, BeingTakenIn, Cancelled, CancelledMessages, ChannelProvider, ConsentsRead, Delivered,
    DeliveryAttempt, DeliveryError, DeliveryReceipts, DigestRepository, DirectoryRepository, EraseRecipient,
    Erased, FoundUsers, InAppInbox, NewTemplateVersion, NotificationReports, PreferenceRepository, Prepared,
    RateLimiter, RecipientDirectory, SegmentPage, SubmitRequests, Suppressions, TemplateDraft,
    TemplateListed, TemplateSource, TemplateStore, TemplateVersionListed,
};

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
