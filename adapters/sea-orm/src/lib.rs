//! Claimstream's ports on MySQL, MariaDB and SQLite, by sea-orm.
//!
//! [`SeaOrmOutbox::open`] connects with a [hardened pool](HardenedPool), makes or checks the schema, proves the locking
//! strategy and then implements every port. Each unit of work runs as a task of its own on the adapter's runtime, so that
//! a dropped caller detaches from it instead of cutting it, and any executor may poll the ports. A transaction that
//! [`SeaOrmOutbox::begin`] gives away needs tokio around it; [`SeaOrmOutbox::transaction`] does the work in one anywhere.
//!
//! Every statement is a file that a DBA can read: see [`statements`].
#![forbid(unsafe_code)]
// The long tier builds with room to spare: other compilers, and our callers' crates, nest our futures more deeply than this one does.
#![cfg_attr(claimstream_nesting, recursion_limit = "96")]
// Shows with each item which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "mysql", feature = "sqlite", feature = "steps", feature = "notifications")),
    allow(unused, reason = "without a driver or a capability, what only that one needs is left over")
)]

mod bench;
mod caller_transactions;
mod database;
mod dead_letters;
mod doctor;
mod enqueue;
mod failover;
#[cfg(feature = "steps")]
mod locks;
mod messages;
#[cfg(feature = "notifications")]
mod notifications;
mod outbox;
mod queues;
mod resharding;
#[cfg(feature = "steps")]
mod steps;
mod strategy;
mod sweep;

pub use bench::place::BenchPlace;
#[cfg(feature = "mysql")]
pub use caller_transactions::own::OwnTransaction;
#[cfg(feature = "mysql")]
pub use database::nodes::addresses::ServerAddresses;
#[cfg(feature = "mysql")]
pub use database::sqlx_connection::SqlxMySql;
#[cfg(feature = "sqlite")]
pub use database::sqlx_connection::SqlxSqlite;
pub use database::{
    capability::Capability, classify::store_error, clock::FrozenClock, dialect::Dialect, pool::HardenedPool,
    probe::SkipLockedProof, statements::statements, store_timer::StoreTimer,
};
pub use doctor::finding::{Finding, Severity};
pub use enqueue::statements::EnqueueStatements;
#[cfg(feature = "notifications")]
pub use notifications::failover_remains::{FailoverRemains, FailoverRepair};
#[cfg(feature = "mysql")]
pub use outbox::login::Login;
pub use outbox::{
    handle::SeaOrmOutbox,
    options::OpenOptions,
    schema::schema,
    schema_extra::SchemaExtra,
    schema_plan::{CapabilityPlan, SchemaPlan},
    schema_step::{SchemaStep, SchemaWay},
    transactions::TransactionWork,
};
pub use resharding::{
    plan::{ReshardAction, ReshardPlan},
    status::{ReshardStep, ShardStatus},
};
pub use strategy::{
    choice::{Strategy, StrategyChoice},
    order::Order,
};
pub use sweep::{lag::LagGauge, swept::Swept};

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
