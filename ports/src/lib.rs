//! The ports of Claimstream: what the application needs from the world, as small object-safe traits.
//!
//! Each trait states what its implementors owe and what its callers may rely on; the conformance suite holds every
//! implementation to it, sentence by sentence. Three rules hold for all of them:
//!
//! * Durations cross, instants stay. A store computes every deadline on its own clock; only a moment that a user chose
//!   ([`Due::At`](claimstream_domain::Due::At)) comes in from outside.
//! * Every call that ends or extends a claim shows its [`Receipt`](claimstream_domain::Receipt). A lost lease is the
//!   outcome `Superseded`, never an error.
//! * Dropping a future of a port is safe: the work behind it is either not begun or runs to its end.
//!
//! The root has what the outbox needs. What is built on it has a module each: [`step`] the ledger of steps, [`saga`],
//! [`tcc`] and [`notification`].
//!
//! # Features
//!
//! * `mock`: the module `mock` has a mock of every port and a timer that tests turn by hand. Off by default.
#![forbid(unsafe_code)]
// Shows with each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod audit_log;
mod batch_handler;
mod consume;
mod dead_letters;
mod deadline;
mod distributed_lock;
mod enqueue;
mod find_messages;
mod handler;
mod list_instances;
mod list_locks;
mod locking_strategy;
#[cfg(feature = "mock")]
pub mod mock;
pub mod notification;
mod observe;
mod pause_queues;
mod publish;
mod read_messages;
mod release_leases;
pub mod saga;
mod self_check;
mod server_clock;
mod settlements;
pub mod step;
mod store_error;
pub mod tcc;
mod telemetry;
mod timer;
mod transactions;
mod wakeup;

pub use audit_log::AuditLog;
pub use batch_handler::{BatchHandler, Verdicts};
pub use consume::{Consume, ConsumeError, Delivery, Extended, Hold};
pub use dead_letters::DeadLetters;
pub use deadline::{Deadline, within};
pub use distributed_lock::{DistributedLock, LockGuard};
pub use enqueue::Enqueue;
pub use find_messages::FindMessages;
pub use handler::Handler;
pub use list_instances::ListInstances;
pub use list_locks::ListLocks;
pub use locking_strategy::LockingStrategy;
pub use observe::Observe;
pub use pause_queues::PauseQueues;
pub use publish::Publish;
pub use read_messages::ReadMessages;
pub use release_leases::ReleaseLeases;
pub use self_check::SelfCheck;
pub use server_clock::ServerClock;
pub use settlements::Settlements;
pub use store_error::{StoreError, StoreErrorKind};
pub use telemetry::{Handled, Measured, Pool, SettledAs, StoreCall, Telemetry};
pub use timer::{Sleep, Timer};
pub use transactions::Transactions;
pub use wakeup::Wakeup;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
