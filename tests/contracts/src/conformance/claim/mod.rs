//! The contract of `LockingStrategy::claim`.
//! Promise: a claim brings no more bytes than its budget, and gives the rest back without an attempt

pub mod batches;
pub mod claimers;
pub mod due_times;
pub mod leases;
pub mod shards;

use crate::{Fixture, suite::Case};

pub const CLAUSES: &[&[Case<Fixture>]] =
    &[batches::CLAUSES, due_times::CLAUSES, leases::CLAUSES, shards::CLAUSES, claimers::CLAUSES];
