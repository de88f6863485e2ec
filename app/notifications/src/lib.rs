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
mod chunk;
mod fan_out_attempt;
mod groups;
mod message_config;
mod message_handler;
mod outcome;
mod providers;
mod reading;
mod request_config;
mod request_handler;
#[cfg(test)]
mod tests;
mod unwinding;
mod writer;

pub use message_config::MessageConfig;
pub use message_handler::MessageHandler;
pub use providers::Providers;
pub use request_config::RequestConfig;
pub use request_handler::RequestHandler;

pub use claimstream_domain::notification::{
    Channel, Content, DeliveryStatus, DirectRecipient, MESSAGE_QUEUE, NotificationMessage,
    NotificationRequest, Progress, REQUEST_QUEUE, Recipient, RecipientReference, RequestStatus, Requester,
    RequesterKind, Template, TemplateCall,
};
pub use claimstream_ports::notification::{
    Cancelled, ChannelProvider, Delivered, DeliveryError, NotificationReports, RecipientDirectory,
    SubmitRequests, TemplateSource,
};

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
