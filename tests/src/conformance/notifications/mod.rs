//! The contract of notification requests, their messages and the reports on both.

pub mod messages;
pub mod reports;
pub mod requests;
mod sample;
pub mod submissions;

use crate::{NotificationFixture, suite::Case};

pub const CLAUSES: &[&[Case<NotificationFixture>]] =
    &[submissions::CLAUSES, requests::CLAUSES, messages::CLAUSES, reports::CLAUSES];
