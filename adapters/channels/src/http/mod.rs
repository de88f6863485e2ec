//! The one HTTP client of all providers.

mod answer;
mod client;
#[cfg(feature = "smtp")]
mod failure;
#[cfg(feature = "webhook")]
mod judged_answer;
mod limited_resolver;
#[cfg(feature = "webhook")]
mod problem;
mod retry_after;
mod root;

pub(crate) use answer::{HttpAnswer, Unread};
pub(crate) use client::HttpClient;
#[cfg(feature = "smtp")]
pub(crate) use failure::failure;
#[cfg(feature = "webhook")]
pub(crate) use judged_answer::JudgedAnswer;
#[cfg(feature = "gateway")]
pub(crate) use judged_answer::text_at;
#[cfg(feature = "webhook")]
pub(crate) use problem::is_problem;
pub(crate) use root::root;
