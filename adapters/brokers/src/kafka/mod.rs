//! The Kafka protocol, by librdkafka.
//!
//! A publication's place is a topic. The ordering key is the key of the record, so that all messages of a key are in one partition, chosen as
//! Java's clients choose it; a message without a key is in any. The headers of a record are:
//!
//! | header | holds |
//! |---|---|
//! | `message-id` | the message's id |
//! | `content-type` | how to read the body |
//! | `ce_NAME` | an attribute of its CloudEvent, as the CloudEvents binding for Kafka says |
//! | all others | the headers of the message by their names |
//!
//! | the cluster says | answer |
//! |---|---|
//! | every replica in sync has the record (`acks=all`) | `Confirmed` |
//! | the record is larger than the client or the topic takes | `Refused` |
//! | the topic never takes such a record | `Refused` |
//! | the name can be none of a topic | `Refused` |
//! | for half the timeout, that there is no such topic | `Unavailable` |
//! | anything else, or nothing within the timeout | `Unconfirmed` |
//!
//! [`KafkaConsumer`] reads a topic as a member of a consumer group.
//!
//! The producer is idempotent: what the client itself sends again is stored once and in its order. What this crate is asked to publish
//! again may come twice, under its id.

mod config;
mod consumer;
mod member;
mod progress;
mod publisher;
mod topic;
mod wire;

pub use config::KafkaConfig;
pub use consumer::KafkaConsumer;
pub use publisher::KafkaPublisher;
