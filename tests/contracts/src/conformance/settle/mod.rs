//! The contract of `Settlements::settle`.

pub mod batches;
pub(super) mod dispositions;
pub mod emissions;
pub mod lost_claims;
pub mod outcomes;
pub mod repetition;

use crate::{Fixture, suite::Case};

pub const CLAUSES: &[&[Case<Fixture>]] =
    &[outcomes::CLAUSES, lost_claims::CLAUSES, repetition::CLAUSES, batches::CLAUSES, emissions::CLAUSES];
