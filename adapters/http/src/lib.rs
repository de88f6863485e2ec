//! Notification requests over HTTP: a service on the ports, and a server for it.
//!
//! Nothing is answered 2xx that is not committed. Requests of many callers share transactions, and each caller gets the answer of
//! its own. A caller that repeats a call with its `Idempotency-Key` hands nothing in twice, because the id of a request is made
//! of the key.
#![forbid(unsafe_code)]
// Shows beside each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod caller;
mod group_commit;
mod guard;
mod idempotency_key;
mod inbox;
mod intake;
mod json;
mod limits;
mod payload;
mod people;
mod probes;
mod problem;
mod receipts;
mod resources;
mod server;
mod service;
mod shapes;
mod stalling;
mod state;
mod templates;
mod token;
mod trace;

pub use intake::Intake;
pub use limits::Limits;
pub use people::{Directory, People};
pub use probes::{Probes, Readiness};
pub use receipts::{ReceiptCheck, ReceiptKinds, ReceiptMapping, ReceiptProviders, SharedSecret};
pub use server::{Drained, Server};
pub use service::Service;
pub use state::Stores;
pub use templates::{PublishedTemplate, TemplateCheck, TemplateDesk, TemplateRefusal};
pub use token::{Identity, Scope, Tokens};

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
