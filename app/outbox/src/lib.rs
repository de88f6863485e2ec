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
//!     // Where orders are paid: the message exists exactly if the transaction commits.
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
//!             println!("it took longer than the lease; somebody else has the message");
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
//! Polling drives everything, on any executor; only work that must not wait for a slow consumer is handed to the [`Timer`] to be run
//! [beside](Timer::run_beside) it. This crate knows no database and no runtime; a store
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
//! pipelines for notifications are `claimstream-notifications`.
//!
//! # Traces
//!
//! Spans at the level `debug`: `claim` (fields `queue`, `claim`, `asked`), `settle` (`queue`, `count`), `renew` (`queue`,
//! `count`, `lost`), `handle` (`queue`, `message_id`, `attempt`, `traceparent`), `handle_batch` (`queue`, `count`) and `close` (`queue`). Events use the same
//! field names. What passes by itself is a `warn`, what needs somebody is an `error`. Payloads are never traced.
//! A failed attempt of a pipeline is an `attempt failed` with its reason, without what that repeats of the payload; of a flood
//! some are logged, and the next line counts the others. A dead letter is a `warn` with the fields `queue`, `message_id`,
//! `attempts` and `class` (see [`DeadLetterClass`]).
#![forbid(unsafe_code)]

mod answers;
mod attempt;
mod attempts;
mod batch;
mod batch_attempts;
mod batch_call;
mod batch_outcome;
mod batch_pipeline;
mod batches;
mod buffer;
mod claim;
mod claim_call;
mod claim_handle;
mod claimer;
mod claims;
mod compose;
mod dead_letter_event;
mod ending;
mod endings;
mod excuses;
mod failed_attempts;
mod future_set;
mod gathering;
mod handler_fn;
mod hint;
mod isolation;
mod kept;
mod lease_times;
mod local_wakeup;
mod lock_guarded;
mod log_limit;
mod open_claims;
mod pipeline;
mod pipeline_monitor;
mod pipeline_report;
mod places;
mod relay;
mod relay_config;
mod relay_error;
mod renew;
mod renewal;
mod renewer;
mod run;
mod runs;
mod settled_counts;
mod settlement_batch;
mod settlement_health;
mod settlement_writer;
mod settler;
mod settling;
mod setup;
mod shared_concurrency;
mod shown_reason;
mod takes;
mod ticket;
mod time_limit;
mod transaction;
mod verdict_box;
mod wakeup_listener;
mod work;
mod write_group;

pub use batch::{Batch, BatchError};
pub use batch_outcome::BatchOutcome;
pub use batch_pipeline::BatchPipeline;
pub use batches::Batches;
pub use claim::Claim;
pub use claims::Claims;
pub use compose::Compose;
pub use dead_letter_event::{DeadLetterClass, DeadLetterEvent};
pub use handler_fn::handler_fn;
pub use hint::{EnqueueHinted, Hint};
pub use local_wakeup::LocalWakeup;
pub use lock_guarded::LockGuarded;
pub use pipeline::Pipeline;
pub use pipeline_monitor::{PipelineMonitor, PipelineState};
pub use pipeline_report::PipelineReport;
pub use relay::Relay;
pub use relay_config::RelayConfig;
pub use relay_error::{Operation, RelayError};
pub use shared_concurrency::{ConcurrencyShare, SharedConcurrency};
pub use transaction::{TransactionError, Work, in_proven_transaction, in_transaction, work};

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
