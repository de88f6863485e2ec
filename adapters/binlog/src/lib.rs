//! Claimstream's [`Wakeup`](claimstream_ports::Wakeup) from the binary log of MySQL or MariaDB.
//!
//! A relay reads the server's own log as a replica would, and looks for work when a row goes into `claimstream_queue`: it notices every
//! writer, also those in other languages, and no writer has to do anything. Nothing is decided by the log. A wakeup may be lost
//! or come for nothing, and where the log cannot be read, relays look by themselves as ever.
//!
//! The log is that of the whole server, so everything that is written to any of its databases comes over the connection and is skipped.
//! All of it needs tokio around it.
#![forbid(unsafe_code)]
// Shows with each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod connection;
mod encryption;
mod examine;
mod listeners;
mod news;
mod place;
mod position;
mod retry;
mod standing;
mod statement;
mod tail;
mod trouble;
mod wakeup;

pub use place::BinlogPlace;
pub use wakeup::BinlogWakeup;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
