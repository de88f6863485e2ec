//! A transactional outbox that reads as a `Stream`.
#![forbid(unsafe_code)]

pub mod notification;

pub use claimstream_domain as domain;
pub use claimstream_ports as ports;
