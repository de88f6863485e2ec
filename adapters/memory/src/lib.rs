//! Claimstream's ports in memory: the reference model that every other store is compared with, and a test double for
//! code that enqueues or handles messages.
//!
//! [`MemoryStore`] keeps everything behind one lock and carries out what the domain decides; what it answers, a database
//! must answer too. Time can be moved by hand, so a test of leases, delays and retries never sleeps:
//!
//! ```
//! # futures::executor::block_on(async {
//! use std::time::Duration;
//!
//! use claimstream_domain::*;
//! use claimstream_memory::MemoryStore;
//! use claimstream_ports::{Enqueue, LockingStrategy};
//!
//! let store = MemoryStore::with_manual_clock();
//! let orders = QueueName::new("orders")?;
//! let id = MessageId::new(uuid::Uuid::from_u128(1));
//! let paid = NewMessage::new(id, orders.clone(), Payload::json("{}")).deliver_after(Duration::from_secs(10));
//!
//! let tx = store.begin();
//! store.enqueue(&tx, &[paid]).await?;
//! tx.commit();
//!
//! let me = InstanceId(7);
//! let claim = |sequence| ClaimRequest {
//!     budget: Default::default(),
//!     runs: None,
//!     queue: orders.clone(),
//!     limit: 10,
//!     lease: Lease::default(),
//!     claim: ClaimId::new(me, sequence),
//!     owner: Owner::new(me, "example").expect("a short label"),
//! };
//! assert!(store.claim(&claim(1)).await?.is_empty());
//! store.advance(Duration::from_secs(10));
//! assert_eq!(store.claim(&claim(2)).await?[0].message.id, id);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod attempts;
mod audit;
mod claim;
mod clock;
mod database;
mod dead_letters;
mod digests;
mod directory;
mod enqueue;
mod erase;
mod in_app;
mod instances;
mod lateness;
mod lock;
mod messages;
mod notifications;
mod pauses;
mod people;
mod preferences;
mod receipts;
mod runs;
mod sagas;
mod self_check;
mod step_ledger;
mod store;
mod tables;
mod template_store;
mod templates;
mod transaction;

pub use clock::MemoryClock;
pub use directory::MemoryDirectory;
pub use store::{MemoryOptions, MemoryStore};
pub use templates::MemoryTemplates;
pub use transaction::MemoryTransaction;

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
