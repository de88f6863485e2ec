//! Redis Streams.
//!
//! Redis does not know a message again that is sent twice, so its consumers do, by the field `id`. The fields of an entry are:
//!
//! | field | holds |
//! |---|---|
//! | `id` | the message's id |
//! | `key` | its ordering key, if it has one |
//! | `content-type` | how to read the body |
//! | `data` | the body |
//! | `ce-NAME` | an attribute of its CloudEvent |
//! | `header-NAME` | a header of the message |

mod answering;
mod config;
mod connection;
mod consumer;
mod error_kind;
mod group;
mod member;
mod publisher;
mod wire;

pub use config::RedisStreamsConfig;
pub use consumer::RedisStreamsConsumer;
pub use publisher::RedisStreamsPublisher;
