//! Notification requests over HTTP: a service on the ports, and a server for it.
//!
//! Nothing is answered 2xx that is not committed. Requests of many callers share transactions, and each caller gets the answer of
//! its own. A caller that repeats a call with its `Idempotency-Key` hands nothing in twice, because the id of a request is made
//! of the key.
#![forbid(unsafe_code)]
// Without the server, nothing obeys the settings.
#![cfg_attr(not(feature = "server"), allow(dead_code))]
// Shows with each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "server")]
mod body;
#[cfg(feature = "server")]
mod caller;
#[cfg(feature = "server")]
mod entity_tag;
#[cfg(feature = "server")]
mod group_commit;
#[cfg(feature = "server")]
mod guard;
#[cfg(feature = "server")]
mod idempotency_key;
#[cfg(feature = "server")]
mod inbox;
#[cfg(feature = "server")]
mod intake;
#[cfg(feature = "server")]
mod json;
mod limits;
#[cfg(feature = "server")]
mod payload;
#[cfg(feature = "server")]
mod people;
#[cfg(feature = "server")]
mod probes;
#[cfg(feature = "server")]
mod problem;
mod receipts;
#[cfg(feature = "server")]
mod resources;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod service;
#[cfg(feature = "server")]
mod shapes;
#[cfg(feature = "server")]
mod stalling;
#[cfg(feature = "server")]
mod state;
#[cfg(feature = "server")]
mod templates;
mod token;
#[cfg(feature = "server")]
mod trace;

#[cfg(feature = "server")]
pub use intake::Intake;
pub use limits::Limits;
#[cfg(feature = "server")]
pub use people::{Directory, RecipientStores};
#[cfg(feature = "server")]
pub use probes::{Probes, Readiness};
pub use receipts::{ReceiptCheck, ReceiptKinds, ReceiptMapping, ReceiptProviders, SharedSecret};
#[cfg(feature = "server")]
pub use server::{Drained, Server};
#[cfg(feature = "server")]
pub use service::Service;
#[cfg(feature = "server")]
pub use state::Stores;
#[cfg(feature = "server")]
pub use templates::{PublishedTemplate, TemplateCheck, TemplateDesk, TemplateRefusal};
pub use token::{Scope, TokenIdentity, Tokens};

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
