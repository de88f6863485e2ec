//! The contract of the step ledger.

pub mod changes;
pub mod concurrent;
pub mod keys;
mod sample;

use crate::{StepFixture, suite::Case};

pub const CLAUSES: &[&[Case<StepFixture>]] = &[keys::CLAUSES, changes::CLAUSES, concurrent::CONCURRENT];
