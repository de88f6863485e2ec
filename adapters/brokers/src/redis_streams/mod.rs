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
mod connection;
mod consumer;
mod group;
mod meaning;
mod member;
mod place;
mod publisher;
mod wire;

pub use consumer::RedisStreamsConsumer;
pub use place::RedisStreamsPlace;
pub use publisher::RedisStreamsPublisher;
