//! Claimstream's ports on MySQL, MariaDB and SQLite, by sea-orm.
//!
//! [`SeaOrmOutbox::open`] connects with a [hardened pool](HardenedPool), makes or checks the schema, proves the locking
//! strategy and then implements every port. Each unit of work runs as a task of its own on the adapter's runtime, so that
//! a dropped caller detaches from it instead of cutting it, and any executor may poll the ports. A transaction that
//! [`SeaOrmOutbox::begin`] gives away needs tokio around it; [`SeaOrmOutbox::transaction`] does the work in one anywhere.
//!
//! Every statement is a file that a DBA can read: see [`statements`].
#![forbid(unsafe_code)]

mod answers;
mod args;
#[cfg(feature = "mysql")]
mod berth;
mod body;
mod caller_commit;
mod callers;
mod claim;
mod classify;
mod clock;
mod connecting;
mod dead_letters;
mod dialect;
mod doctor;
mod doctor_queues;
mod doctor_rights;
mod enqueue;
mod enqueue_statements;
mod failover;
mod gather;
mod given_pool;
mod group;
mod held;
mod identity;
mod introductions;
mod lanes;
mod lateness;
mod link;
mod lock;
mod notifications;
mod observe;
mod order;
mod outage;
mod outbox;
mod packet;
mod pool;
mod probe;
mod saga;
mod savepoint;
mod schema;
mod settle;
mod settle_at_once;
mod settle_renew;
mod shard_lease;
mod sql;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
mod sqlx_connection;
mod statements;
mod step_ledger;
mod strategy;
mod sweep;
mod take_back;
mod takings;
mod transaction;
mod twins;
mod unit;
mod weights;

pub use classify::store_error;
pub use clock::FrozenClock;
pub use dialect::Dialect;
pub use doctor::{Finding, Severity};
pub use enqueue_statements::EnqueueStatements;
pub use order::Order;
pub use outbox::{OpenOptions, SeaOrmOutbox};
pub use pool::HardenedPool;
pub use probe::SkipLocked;
pub use schema::schema;
#[cfg(feature = "mysql")]
pub use sqlx_connection::SqlxMySql;
#[cfg(feature = "sqlite")]
pub use sqlx_connection::SqlxSqlite;
pub use statements::statements;
pub use strategy::{Strategy, StrategyChoice};
pub use sweep::{LagGauge, Swept};
pub use transaction::TransactionWork;
