//! Promise: entries of the audit log are kept for a year

use std::time::Duration;

use claimstream_domain::{AuditAction, AuditEntry};
use claimstream_ports::AuditLog;

use super::{Place, Setup, keep};
use crate::Suite;

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let what = "what_operators_did_is_kept_for_a_year_and_no_longer";
    place.add(suite, "auto", keep(), what, is_kept_for_a_year);
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

async fn is_kept_for_a_year(setup: Setup) {
    for _ in 0..120 {
        note(&setup, "old").await;
    }
    setup.clock.advance(YEAR);
    note(&setup, "young").await;
    setup.sweep().await;
    assert_eq!(setup.outbox.entries(None, 500).await.expect("entries").len(), 121);
    setup.clock.advance(Setup::MOMENT);
    setup.sweep().await;
    let left = setup.outbox.entries(None, 500).await.expect("entries");
    assert_eq!(left.iter().map(|entry| &*entry.subject).collect::<Vec<_>>(), ["young"]);
}

async fn note(setup: &Setup, subject: &str) {
    let entry = AuditEntry::new("ann", AuditAction::Pause, subject).expect("an entry");
    setup.outbox.note_action(&entry).await.expect("noted");
}
