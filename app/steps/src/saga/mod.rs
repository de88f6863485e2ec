//! Sagas: several local transactions, in one database or in several, that are all taken or all undone.
//!
//! A saga is a list of steps in one place. Each is a local transaction of its own, with a row in the [step
//! ledger](crate::StepLedger) with its effect, or a call to another service with an idempotency key. Up to the pivot, what
//! was done can be undone; after it, the saga only goes on. A check message, enqueued with the saga's first row, sees to it
//! that the saga comes to its end whatever happens to its runner.
//!
//! ```
//! # use claimstream_memory::MemoryStore;
//! # use claimstream_tokio::TokioTimer;
//! # use std::sync::Arc;
//! use claimstream_steps::saga::{Saga, SagaConfig, SagaId, SagaOutcome, SagaRun, StepFailure};
//!
//! # type Tx = claimstream_memory::MemoryTransaction;
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Transfer { from: String, to: String, amount: u64 }
//!
//! async fn debit(tx: &Tx, transfer: &Transfer) -> Result<(), StepFailure> {
//!     // UPDATE account SET amount = amount - ? WHERE user = ? AND amount >= ?, in this very transaction
//! #   let _ = tx;
//!     if transfer.amount > 10_000 { Err(StepFailure::business("balance too small")) } else { Ok(()) }
//! }
//! # async fn refund(_: &Tx, _: &Transfer) -> Result<(), StepFailure> { Ok(()) }
//! # async fn credit(_: &Tx, _: &Transfer) -> Result<(), StepFailure> { Ok(()) }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (berlin, paris) = (MemoryStore::new(), MemoryStore::new());
//! let transfers = Saga::list("transfer", berlin.clone(), Arc::new(TokioTimer::new()))
//!     .at(move |_: &Transfer| berlin.clone())
//!     .step("debit", |tx, run| Box::pin(debit(tx, run.input())), |tx, run| Box::pin(refund(tx, run.input())))
//!     .pivot()
//!     .at(move |_| paris.clone())
//!     .step("credit", |tx, run| Box::pin(credit(tx, run.input())))
//!     .build(SagaConfig::default())?;
//!
//! let transfer = Transfer { from: "anna".into(), to: "bert".into(), amount: 1_000 };
//! let id = SagaId::new(uuid::Uuid::now_v7());
//! assert_eq!(transfers.start(id, "anna", transfer).await?, SagaOutcome::Finish);
//! assert_eq!(transfers.mine("anna", None, 10).await?.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! A pipeline of the saga's own [queue](Saga::queue) with the saga as its handler brings to their ends those whose runner
//! is gone.

mod alarm;
mod build;
mod config;
mod drive;
mod entered;
mod error;
mod failure;
mod handler;
mod home;
mod list;
mod local;
mod outcome;
mod parts;
mod remote;
mod report;
mod row;
mod run;
mod step;
mod tally;

pub use alarm::{SagaAlarm, SagaAlarmKind};
pub use build::{SagaList, SagaListAt, SagaTail, SagaTailAt};
pub use config::SagaConfig;
pub use error::SagaError;
pub use failure::StepFailure;
pub use home::SagaHome;
pub use list::Saga;
pub use outcome::SagaOutcome;
pub use remote::IdempotencyKey;
pub use report::SagaReport;
pub use run::SagaRun;
pub use tally::SagaTally;

pub use claimstream_domain::saga::{SagaId, SagaOrderKind, SagaState, Unbegun};
