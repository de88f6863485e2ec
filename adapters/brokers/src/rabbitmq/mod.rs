//! RabbitMQ, by AMQP 0.9.1.
//!
//! A publication's place is `exchange/routing-key`. What stands before the first slash is the exchange, and everything after it
//! is the routing key, also further slashes. A place without a slash is the name of a queue, which the default exchange routes
//! to; `/name` says the same, and is the way to a queue with a slash in its name. `exchange/` has an empty routing key, as
//! fanout and headers exchanges take it.
//!
//! | the broker says | answer |
//! |---|---|
//! | `basic.ack` | `Confirmed`; a quorum queue says it when a majority of its nodes have the message |
//! | `basic.return`: no queue is bound for the routing key | `Unavailable` |
//! | the channel is closed because there is no such exchange, or because the queue's node is down | `Unavailable` |
//! | `basic.nack`: the queue is full or cannot write | `Unavailable` |
//! | the channel is closed because the message is too large | `Refused` |
//! | a closed channel or connection, no confirmation in time | `Unconfirmed` |
//! | `connection.blocked`: an alarm about memory or disk | `Unconfirmed`; nothing is sent until the alarm is over |
//!
//! Messages are persistent and mandatory, the id is the property `message-id`, and the attributes of a CloudEvent are headers
//! with the prefix `cloudEvents:`, as the AMQP binding of CloudEvents says. The ordering key is the header `claimstream-key`.
//!
//! Exchanges and queues are never declared here: who owns them decides whether they are durable, classic or quorum. A message
//! in a queue that is not durable is lost when the broker restarts, whatever it has confirmed.
//!
//! The client writes each message that was returned to the log, with its body, under the target `lapin` as a warning. A
//! program with confidential messages records only errors of that target.

mod config;
mod confirm_channel;
mod consumer;
mod error_kind;
mod properties;
mod publisher;
mod route;

pub use config::RabbitMqConfig;
pub use consumer::RabbitMqConsumer;
pub use publisher::RabbitMqPublisher;
