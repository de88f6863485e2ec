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
//! With the feature `mock`, the module `mock` holds a mock of every port.
#![forbid(unsafe_code)]

mod channel_provider;
mod dead_letters;
mod distributed_lock;
mod enqueue;
mod handler;
mod lateness;
mod locking_strategy;
#[cfg(feature = "mock")]
pub mod mock;
mod notifications;
mod observe;
mod participant;
mod purge_steps;
mod recipient_directory;
mod sagas;
mod settlements;
mod step_ledger;
mod store_error;
mod template_source;
mod timer;
mod transactions;
mod wakeup;

pub use channel_provider::{ChannelProvider, Delivered, DeliveryError};
pub use dead_letters::DeadLetters;
pub use distributed_lock::{DistributedLock, LockGuard};
pub use enqueue::Enqueue;
pub use handler::Handler;
pub use lateness::Lateness;
pub use locking_strategy::LockingStrategy;
pub use notifications::{
    Cancelled, MessageOutcome, MessageRepository, NotificationReports, OpenedRequest, RequestRepository,
    SubmitRequests,
};
pub use observe::Observe;
pub use participant::{Participant, ParticipantError};
pub use purge_steps::PurgeSteps;
pub use recipient_directory::RecipientDirectory;
pub use sagas::{NoteSagas, SagaReports};
pub use settlements::Settlements;
pub use step_ledger::{LockWait, Locked, StepLedger};
pub use store_error::{StoreError, StoreErrorKind};
pub use template_source::TemplateSource;
pub use timer::{Sleep, Timer};
pub use transactions::Transactions;
pub use wakeup::Wakeup;
