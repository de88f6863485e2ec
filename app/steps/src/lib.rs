//! Effects that happen once, on the step ledger of Claimstream.
//!
//! A message may be handled more than once. The step ledger of a store ([`StepLedger`]) remembers in the transaction of an
//! effect that it has happened, so that the next delivery finds it. Four modules stand on it:
//!
//! | module | one of its own is |
//! |---|---|
//! | [`inbox`] | the effect of one message |
//! | [`saga`] | several local transactions, all taken or all undone |
//! | [`tcc`] | reservations in several places, all used or all given back |
//! | [`timer_event`] | an occurrence of a schedule, with decisions that each succeed once |
//!
//! Each of them is handled by a [`Pipeline`](claimstream::Pipeline) of the crate `claimstream`.
#![forbid(unsafe_code)]

mod effect;
pub mod inbox;
mod late_node;
pub mod saga;
pub mod tcc;
pub mod timer_event;

pub use claimstream_domain::{
    Fingerprint,
    step::{Begun, NewStep, Step, StepChange, StepKey, StepResult, StepRetention},
};
pub use claimstream_ports::step::{LockWait, Locked, PurgeSteps, StepLedger};

/// The code of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
