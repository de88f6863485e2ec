//! A transactional outbox that reads as a [`Stream`](futures::Stream).
//!
//! Business code enqueues messages in its own database transaction. A [`Relay`] claims them, each with a lease, and hands
//! them out as a stream of [`Claim`]s; any number of relays work on the same tables without ever holding the same message
//! at the same time.
//!
//! ```
//! use std::sync::Arc;
//!
//! use claimstream::{Compose, Enqueue, Message, NewMessage, Relay, RelayConfig, Settled};
//! use claimstream_memory::MemoryStore;
//! use claimstream_tokio::TokioTimer;
//! use futures::TryStreamExt;
//!
//! # async fn deliver(_: &Message) -> Result<(), std::io::Error> { Ok(()) }
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let store = Arc::new(MemoryStore::new()); // or a database
//!
//!     // Where orders are paid: the message exists if and only if the transaction commits.
//!     let tx = store.begin();
//!     store.enqueue(&tx, &[NewMessage::json("orders", &"order 7 is paid")?]).await?;
//!     tx.commit();
//!
//!     // Where messages are delivered.
//!     let relay = Relay::new(store, TokioTimer::new(), RelayConfig::default());
//!     let mut claims = relay.claims("orders")?;
//!     while let Some(claim) = claims.try_next().await? {
//!         let settled = match deliver(claim.message()).await {
//!             Ok(()) => claim.ack().await?,
//!             Err(error) => claim.nack(error).await?,
//!         };
//!         if settled == Settled::Superseded {
//!             println!("it took longer than the lease; another relay has the message");
//!         }
//! #       break;
//!     }
//!     claims.close().await?;
//!     Ok(())
//! }
//! ```
//!
//! A [`Pipeline`] does the same with a [`Handler`] and sees to concurrency, renewals, panics and an orderly shutdown. Where a call
//! for many messages costs hardly more than one for one, [`Claims::batches`] and a [`BatchPipeline`] hand out what was claimed together.
//! Polling drives everything, on any executor; only work that must not wait for a slow consumer is handed to the [`Timer`] to be
//! [spawned](Timer::spawn). This crate knows no database and no runtime; a store
//! and a [`Timer`] are handed to the relay.
//!
//! # Promises
//!
//! * Enqueueing is atomic with the caller's transaction.
//! * Delivery is at least once. A message whose holder has died is claimed again after its lease.
//! * At most one settlement of each claim is accepted. A lost lease is the outcome
//!   [`Superseded`](Settled::Superseded), not an error.
//! * Nothing is dropped in silence: a message that has failed too often is kept with the dead letters, with a reason.
//!
//! A handler therefore sees a message again after a crash; its effect is exactly once only if it is remembered in the same
//! local transaction. The inbox of the crate `claimstream-steps` does that.
//!
//! # Where the rest is
//!
//! This crate shows what you name when you enqueue, read and operate. What a store or a lock implements stands in
//! `claimstream-ports`, and its values in `claimstream-domain`. Inbox, sagas, TCC and timer events are `claimstream-steps`;
//! a service that delivers them to people is `claimstream-notifications`.
//!
//! # Traces
//!
//! Spans at the level `debug`: `claim` (fields `queue`, `claim`, `asked`), `settle` (`queue`, `count`), `renew` (`queue`,
//! `count`, `lost`), `handle` (`queue`, `message_id`, `attempt`, `traceparent`), `handle_batch` (`queue`, `count`) and `close` (`queue`). Events use the same
//! field names. What passes by itself is a `warn`, what needs an operator is an `error`. Payloads are never traced.
//! A failed attempt of a pipeline is an `attempt failed` with its reason, without what that repeats of the payload; of a flood
//! some are logged, and the next line counts the others. A dead letter is a `warn` with the fields `queue`, `message_id`,
//! `attempts` and `class` (see [`DeadLetterClass`]).
#![forbid(unsafe_code)]

mod concurrency;
mod config;
mod enqueue;
mod error;
mod in_flight;
mod lock_guarded;
mod order;
mod pipelines;
mod relay;
mod renew;
mod report;
mod settle;
mod setup;
mod stream;
mod wakeup;

pub use concurrency::{ConcurrencyShare, SharedConcurrency};
pub use config::RelayConfig;
pub use enqueue::{
    Compose, EnqueueHinted, Hint, TransactionError, Work, in_proven_transaction, in_transaction, work,
};
pub use error::{Operation, RelayError};
pub use lock_guarded::LockGuarded;
pub use pipelines::{BatchPipeline, Pipeline, handler_fn};
pub use relay::Relay;
pub use report::{DeadLetterClass, DeadLetterEvent, PipelineMonitor, PipelineReport, PipelineState};
pub use stream::{Batch, BatchError, BatchOutcome, Batches, Claim, Claims};
pub use wakeup::LocalWakeup;

pub use claimstream_domain::{
    Claimed, DeadLetter, DeadLetterFilter, DedupKey, Due, Enqueued, Headers, InstanceId, Invalid, Jitter,
    Lease, Message, MessageId, NewMessage, OrderingKey, Owner, Pacing, Payload, QueueName, QueueStatus,
    Reason, Renewed, RetryPolicy, Settled, Timestamp, Verdict,
};
pub use claimstream_ports::{
    BatchHandler, DeadLetters, DistributedLock, Enqueue, Handler, Observe, StoreError, StoreErrorKind,
    Telemetry, Timer, Transactions, Verdicts, Wakeup,
};

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
