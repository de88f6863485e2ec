//! Providers for Claimstream's message pipeline.
//!
//! | provider | delivers | feature |
//! |---|---|---|
//! | [`LogChannel`] | a line of JSON to a file or a stream | always |
//! | [`WebhookChannel`] | a signed HTTP POST, to each recipient's own URL or to one gateway | `webhook` |
//! | [`GatewayChannel`] | a call of a provider's HTTP API, by templates: SMS, push, mail | `gateway` |
//! | [`ChatChannel`] | a message in Slack or Teams, by their incoming webhooks | `webhook` |
//! | [`SmtpChannel`] | a mail through an SMTP server | `smtp` |
//!
//! [`HttpParticipant`] (feature `webhook`) carries out branches of TCC transactions by the same POSTs.
//! [`HttpTemplates`] (feature `webhook`) takes templates from a server, and [`HttpDirectory`] users and segments.
//!
//! With the feature `tls` all but the first speak TLS by rustls, trusting the certificates that the system trusts. They
//! need a tokio runtime around them. All end in bounded time, pass the message's id on as an idempotency key,
//! and say of every failure whether another attempt can help.
#![forbid(unsafe_code)]
// Shows with each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "smtp")]
mod attachments;
#[cfg(feature = "webhook")]
mod chat;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(any(feature = "webhook", feature = "smtp"))]
mod http;
#[cfg(feature = "webhook")]
mod http_directory;
#[cfg(feature = "webhook")]
mod http_templates;
mod log;
mod masked;
#[cfg(any(feature = "webhook", feature = "smtp"))]
mod secret;
#[cfg(feature = "smtp")]
mod smtp;
#[cfg(any(feature = "webhook", feature = "smtp"))]
mod timeouts;
#[cfg(all(feature = "tls", any(feature = "webhook", feature = "smtp")))]
mod tls;
#[cfg(feature = "webhook")]
mod webhook;

#[cfg(feature = "smtp")]
pub use attachments::AttachmentConfig;
#[cfg(feature = "webhook")]
pub use chat::{ChatChannel, ChatStyle};
#[cfg(feature = "gateway")]
pub use gateway::{GatewayAuth, GatewayChannel, GatewayConfig};
#[cfg(feature = "webhook")]
pub use http_directory::{HttpDirectory, HttpDirectoryConfig};
#[cfg(feature = "webhook")]
pub use http_templates::{HttpTemplates, HttpTemplatesConfig};
pub use log::{LogChannel, LogConfig};
#[cfg(any(feature = "webhook", feature = "smtp"))]
pub use secret::Secret;
#[cfg(feature = "smtp")]
pub use smtp::{SmtpChannel, SmtpConfig, SmtpCredentials, SmtpServer};
#[cfg(feature = "webhook")]
pub use webhook::{Endpoint, HttpParticipant, WebhookChannel, WebhookConfig};

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
