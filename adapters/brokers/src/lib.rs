//! Brokers that take messages out of a Claimstream outbox.
//!
//! Each is a [`Publish`](claimstream_ports::Publish): it takes messages in batches, keeps the order of each key, and says of each message
//! whether the broker has confirmed it, will never take it, or has not answered. A feature compiles one broker.
//!
//! | feature | broker | a place is |
//! |---|---|---|
//! | `kafka` | the Kafka protocol | a topic |
//! | `nats` | NATS JetStream | a subject that a stream takes |
//! | `rabbitmq` | RabbitMQ | an exchange and a routing key, or a queue |
//! | `redis-streams` | Redis Streams | the key of a stream |
//!
//! All of it needs tokio around it.
#![forbid(unsafe_code)]
// Shows with each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "kafka", feature = "rabbitmq"))]
mod answers;
#[cfg(feature = "kafka")]
pub mod kafka;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(any(feature = "nats", feature = "redis-streams"))]
mod next_extension;
#[cfg(any(feature = "nats", feature = "rabbitmq"))]
mod no_connection;
#[cfg(any(feature = "kafka", feature = "nats", feature = "rabbitmq", feature = "redis-streams"))]
mod parts;
#[cfg(feature = "rabbitmq")]
pub mod rabbitmq;
#[cfg(feature = "redis-streams")]
pub mod redis_streams;
#[cfg(any(feature = "nats", feature = "redis-streams"))]
mod shared;
#[cfg(any(feature = "kafka", feature = "nats", feature = "rabbitmq"))]
mod waves;

/// The code of the README, compiled.
#[cfg(all(doctest, feature = "nats"))]
#[doc = include_str!("../README.md")]
struct Readme;
