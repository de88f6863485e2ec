//! What operators did: listed newest first, page by page.
//! Promise: entries of the audit log are listed newest first, page by page, along a key

use std::time::Duration;

use claimstream_domain::{AuditAction, AuditEntry, AuditListed};
use claimstream_ports::AuditLog;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance};

pub const CLAUSES: &[Case<Fixture>] = cases!["audit" needs [Claims, Unguarded, Store]:
    every_entry_has_what_was_noted_and_its_age,
    the_newest_entries_come_first_and_every_page_follows_the_one_before,
    a_page_has_at_most_what_was_asked_for,
    an_entry_is_never_changed_by_a_later_one_of_the_same_words,
];

pub async fn every_entry_has_what_was_noted_and_its_age(fixture: Fixture) {
    for action in AuditAction::ALL {
        note(&fixture.store, &entry(&fixture, action, "queue <orders> 'é")).await;
    }
    note(&fixture.store, &entry(&fixture, AuditAction::Purged, "x").with_count(1_000_000_000_000)).await;
    let age = Duration::from_micros(90_000_001);
    fixture.advance(age).await;
    let listed = own(&fixture, 4).await;
    let words: Vec<_> = listed.iter().rev().map(|entry| &*entry.action).collect();
    let expected: Vec<_> = AuditAction::ALL.iter().map(|action| action.word()).chain(["purged"]).collect();
    assert_eq!(words, expected);
    assert!(listed.iter().all(|entry| entry.age == age), "{listed:?}");
    assert_eq!((&*listed[0].subject, listed[0].count), ("x", Some(1_000_000_000_000)));
    assert!(listed[1..].iter().all(|entry| entry.subject == "queue <orders> 'é" && entry.count.is_none()));
}

pub async fn the_newest_entries_come_first_and_every_page_follows_the_one_before(fixture: Fixture) {
    for number in 0..11 {
        let by = if number % 2 == 0 { &fixture.store } else { &fixture.rival };
        note(by, &entry(&fixture, AuditAction::Pause, &number.to_string())).await;
    }
    let expected: Vec<_> = (0..11).rev().map(|number| number.to_string()).collect();
    for limit in [1, 3, 11, 500] {
        let listed = own(&fixture, limit).await;
        let subjects: Vec<_> = listed.iter().map(|entry| entry.subject.clone()).collect();
        assert_eq!(subjects, expected, "{limit} on a page");
        assert!(listed.is_sorted_by(|one, next| one.number > next.number), "{listed:?}");
    }
}

pub async fn a_page_has_at_most_what_was_asked_for(fixture: Fixture) {
    for _ in 0..4 {
        note(&fixture.store, &entry(&fixture, AuditAction::Resume, "queue orders")).await;
    }
    assert_eq!(log(&fixture.rival).entries(None, 3).await.expect("a page").len(), 3);
    assert_eq!(log(&fixture.rival).entries(None, 0).await.expect("a page"), []);
    assert_eq!(
        log(&fixture.rival).entries(Some(0), 3).await.expect("a page"),
        [],
        "nothing is before the first"
    );
}

pub async fn an_entry_is_never_changed_by_a_later_one_of_the_same_words(fixture: Fixture) {
    let entry = entry(&fixture, AuditAction::Stop, "queue orders");
    note(&fixture.store, &entry).await;
    let first = own(&fixture, 5).await;
    note(&fixture.rival, &entry).await;
    let both = own(&fixture, 5).await;
    assert_eq!((both.len(), &both[1].number), (2, &first[0].number));
}

/// An entry under a name that no other test uses.
fn entry(fixture: &Fixture, action: AuditAction, subject: &str) -> AuditEntry {
    AuditEntry::new(fixture.queue().as_str(), action, subject).expect("an entry")
}

fn log(instance: &Instance) -> &dyn AuditLog {
    &*instance.ports.audit
}

async fn note(instance: &Instance, entry: &AuditEntry) {
    log(instance).note_action(entry).await.expect("noted");
}

/// The entries of this test, page by page.
async fn own(fixture: &Fixture, limit: u32) -> Vec<AuditListed> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = log(&fixture.rival).entries(after, limit).await.expect("a page");
        assert!(page.len() <= limit as usize);
        let Some(last) = page.last() else { break };
        after = Some(last.number);
        all.extend(page);
    }
    all.retain(|entry| entry.actor == fixture.queue().as_str());
    all
}
