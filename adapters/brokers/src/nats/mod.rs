//! NATS JetStream.
//!
//! A message is published with its id and its subject as `Nats-Msg-Id`, so a stream drops what it is sent again within its window, two minutes unless
//! the stream says otherwise. Its headers are:
//!
//! | header | holds |
//! |---|---|
//! | `claimstream-id` | the message's id |
//! | `Nats-Msg-Id` | the message's id, `@` and the subject: by it a stream knows a repetition |
//! | `claimstream-key` | its ordering key, percent-encoded |
//! | `content-type` | how to read the body |
//! | `ce-NAME` | an attribute of its CloudEvent, percent-encoded as the CloudEvents binding for NATS says |
//! | all others | the headers of the message by their names |

mod client;
mod config;
mod consumer;
mod publisher;
mod wire;

pub use config::{NatsConfig, NatsLogin};
pub use consumer::NatsConsumer;
pub use publisher::NatsPublisher;
