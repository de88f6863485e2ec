//! Handlers that publish the messages of a queue to a broker.
//!
//! A [`PublishHandler`] hands messages to a [`Publish`](claimstream_ports::Publish), and finishes each when the broker has confirmed it.
//! Where the messages of a queue go to several brokers, a [`CopyHandler`] finishes each with a copy of it for every broker, in one
//! transaction, and each queue of copies has a `PublishHandler` of its own: none waits for another.
//!
//! Delivery is at least once. A broker may get a message again, always under the same id, and the messages of a key in their order
//! wherever the outbox keeps that order.
#![forbid(unsafe_code)]

mod broker_standing;
mod copy_handler;
mod publish_handler;
mod pulse;
#[cfg(test)]
mod tests;

pub use broker_standing::BrokerStanding;
pub use copy_handler::CopyHandler;
pub use publish_handler::PublishHandler;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
