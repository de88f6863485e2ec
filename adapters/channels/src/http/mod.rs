//! The one HTTP client of all providers.

mod answer;
mod client;
mod limited_resolver;
mod retry_after;
mod root;
#[cfg(feature = "tls")]
mod tls;

pub(crate) use answer::{HttpAnswer, Unread};
pub(crate) use client::{HttpClient, failure};
pub(crate) use root::root;
