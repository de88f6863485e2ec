//! The contract of the step ledger.
//! Promise: of two transactions that begin one step, one is first, and the other sees what was committed

pub mod changes;
pub mod concurrent;
pub mod keys;
mod sample;

use crate::{StepFixture, suite::Case};

pub const CLAUSES: &[&[Case<StepFixture>]] = &[keys::CLAUSES, changes::CLAUSES, concurrent::CONCURRENT];
