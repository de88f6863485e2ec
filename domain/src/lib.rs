//! Pure types and total functions of Claimstream.
//!
//! Nothing here waits, reads a clock, draws a random number or talks to a database: seeds, attempt numbers and
//! limits are arguments. The rest of the workspace carries out these decisions.
//!
//! | decision | made by |
//! |---|---|
//! | is a message due? | [`is_due`] |
//! | what does a handler's verdict do to its message? | [`decide`] |
//! | how long did a message wait for its claim? | [`waited`] |
//! | does the end of a claim count as an attempt, and is its message a suspect? | [`ClaimEnd`] |
//! | which state follows? | [`State::next`] |
//! | how long until the next attempt? | [`RetryPolicy::delay`] |
//! | claim again, or wait? | [`Pacing::after`] |
//! | how large is a sweep's next chunk, and how long the rest before it? | [`SweepPace::after`] |
//! | does a step that was found answer, or conflict? | [`step::repeat`] |
//! | of which kind is an error? | [`ErrorClass::of`] |
//! | which shard? | [`ShardCount::shard_of`] |
//! | which messages move to new shards? | [`Resharding`] |
//! | whom does a notification reach, and how? | [`notification::fan_out`] |
//! | when does a timer's event occur, and what does a tick of it do? | [`timer_event`] |
//! | what does a Try, a Confirm or a Cancel do to a branch? | [`tcc::BranchState::after`] |
//! | which action of a saga is next? | [`saga::SagaPlan::next`] |
//! | where does a message go at a broker, and as which CloudEvent? | [`publishing::Route::publication`] |
#![forbid(unsafe_code)]

mod audit;
mod byte_budget;
mod child_order;
mod claim;
mod claim_end;
mod dead_letter;
mod dead_letter_list;
mod doubt;
mod error_class;
mod fair_shares;
mod finding;
mod fingerprint;
mod headers;
mod hold;
mod instance_list;
mod invalid;
mod key;
mod lease;
mod lease_release;
mod lock_list;
mod message;
mod message_id;
mod message_kept;
mod message_standing;
mod name;
pub mod notification;
mod pace;
mod pause;
mod payload;
mod publication;
pub mod publishing;
mod queue;
mod reason;
mod received;
mod resharding;
mod retention;
mod retry;
mod run;
pub mod saga;
mod settlement;
mod shard;
mod state;
mod status;
pub mod step;
mod sweep;
pub mod tcc;
pub mod timer_event;
mod timestamp;
mod verdict;
mod wait;

pub use audit::{AuditAction, AuditEntry, AuditListed};
pub use byte_budget::ByteBudget;
pub use child_order::keep_order;
pub use claim::{ClaimId, ClaimRequest, Claimed, InstanceId, Locator, Owner, Receipt};
pub use claim_end::ClaimEnd;
pub use dead_letter::{DeadLetter, DeadLetterFilter};
pub use dead_letter_list::{
    DeadLetterGroup, DeadLetterGroups, DeadLetterListed, DeadLetterPage, DeadLetterPlace,
};
pub use doubt::Doubt;
pub use error_class::ErrorClass;
pub use fair_shares::{FairShares, GrantedPlace};
pub use finding::{Finding, FindingGroup, Severity};
pub use fingerprint::Fingerprint;
pub use headers::Headers;
pub use hold::{HeldAttempt, HeldNext, HoldLimit};
pub use instance_list::{InstanceListed, LeaseListed};
pub use invalid::Invalid;
pub use key::{DedupKey, OrderingKey};
pub use lease::Lease;
pub use lease_release::{LeaseRelease, LeaseShown};
pub use lock_list::LockListed;
pub use message::{Due, Enqueued, Message, NewMessage, is_due};
pub use message_id::MessageId;
pub use message_kept::{DedupKeyTaken, MessageCarried, MessageKept};
pub use message_standing::{MessageStanding, MessageState, QueuedMessage};
pub use pace::{Found, Next, Pace, Pacing};
pub use pause::{PauseNote, PausedQueue};
pub use payload::{Payload, PayloadLimit};
pub use publication::{Publication, Published};
pub use queue::QueueName;
pub use reason::Reason;
pub use received::Received;
pub use resharding::Resharding;
pub use retention::Retention;
pub use retry::{Jitter, RetryPolicy};
pub use run::{RunPlace, StreamId};
pub use settlement::{Disposition, Renewed, Settled, Settlement};
pub use shard::{Shard, ShardCount};
pub use state::{Event, IllegalTransition, State};
pub use status::QueueStatus;
pub use sweep::{Load, LoadLimit, SweepPace};
pub use timestamp::Timestamp;
pub use verdict::{Verdict, decide};
pub use wait::waited;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
