//! The contract of notification requests, their messages and the reports on both.

pub mod attempts;
pub mod cancelling;
pub mod digests;
pub mod erasing;
pub mod forgetting;
pub mod in_app;
pub mod listing;
pub mod messages;
pub mod people;
pub mod preferences;
pub mod receipts;
pub mod reports;
pub mod requests;
pub mod restoring;
mod sample;
pub mod submissions;
pub mod templates;

use crate::{NotificationFixture, suite::Case};

pub const CLAUSES: &[&[Case<NotificationFixture>]] = &[
    submissions::CLAUSES,
    requests::CLAUSES,
    restoring::CLAUSES,
    cancelling::CLAUSES,
    erasing::CLAUSES,
    forgetting::CLAUSES,
    messages::CLAUSES,
    reports::CLAUSES,
    in_app::CLAUSES,
    listing::CLAUSES,
    attempts::CLAUSES,
    preferences::CLAUSES,
    receipts::CLAUSES,
    templates::CLAUSES,
    people::CLAUSES,
    digests::CLAUSES,
];
