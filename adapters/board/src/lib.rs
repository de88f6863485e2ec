//! A board in the browser: how the queues stand, what was given up and why, and what an operator does about it.
//!
//! It is a router that any axum service mounts; `claimstream serve --board` mounts it at an address of its own. Pages are written
//! by the server and need no script. Every change is a POST from the board's own pages, and is noted with its actor before it is done.
#![forbid(unsafe_code)]
// Shows with each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod app_state;
mod audit;
mod board;
mod boards;
mod carried;
mod chart;
mod dead_letter_job;
mod error_groups;
mod examination;
mod frame;
mod freshness;
mod guard;
mod history;
mod holders;
mod host;
mod known_message;
mod known_request;
mod observation;
mod origin;
mod pages;
mod pauses;
mod place;
mod previews;
mod question;
mod refusal;
mod request_context;
mod run_message;
mod run_query;
mod run_stores;
mod search;
mod section;
mod selection;
mod sessions;
mod shown;
mod siblings;
mod standing;
mod stores;

pub use access::{Access, Right, User, Users};
pub use board::Board;
pub use boards::Boards;
pub use stores::BoardStores;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
