//! What recipients want, and the addresses that must not be written to.
//! Promise: concurrent changes of one recipient's preferences are all kept

use std::time::Duration;

use claimstream_domain::{
    Fingerprint,
    notification::{
        Channel,
        consent::{Address, PreferenceChange, Preferences, Suppression},
    },
};
use claimstream_ports::{StoreErrorKind, notification::ConsentsRead};
use futures::future::join_all;
use uuid::Uuid;

use crate::{
    NotificationFixture, NotificationPorts,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications, Store]:
    a_recipient_that_has_said_nothing_wants_everything,
    what_a_recipient_wants_is_read_by_others_in_order,
    more_recipients_are_read_than_one_statement_names,
    changes_of_one_recipient_at_a_time_are_all_kept,
    a_change_that_is_refused_changes_nothing,
    preferences_that_changed_since_they_were_read_are_not_replaced,
    of_two_reasons_to_suppress_an_address_the_stronger_one_is_kept,
    an_address_is_suppressed_however_it_is_spelled_until_it_is_lifted,
    suppressed_addresses_are_read_page_by_page,
    answers_have_the_time_of_the_store,
];

pub async fn a_recipient_that_has_said_nothing_wants_everything(fixture: NotificationFixture) {
    let read = consents(&fixture.store, &[key()], &[address()]).await;
    assert_eq!((read.preferences, read.suppressed), (vec![Preferences::default()], vec![None]));
    let nothing = consents(&fixture.store, &[], &[]).await;
    assert!(nothing.preferences.is_empty() && nothing.suppressed.is_empty());
}

pub async fn what_a_recipient_wants_is_read_by_others_in_order(fixture: NotificationFixture) {
    let (one, two, bounced) = (key(), key(), address());
    let first = change(&fixture.store, &one, &["email/marketing=off", "time_zone=Asia/Seoul"]).await;
    let second = change(&fixture.rival, &two, &["any/any=off", "quiet_hours=22:00-08:00"]).await;
    suppress(&fixture.store, &bounced, Suppression::Bounced, None).await;
    let read =
        consents(&fixture.rival, &[two.clone(), key(), one, two], &[address(), bounced.clone(), bounced])
            .await;
    assert_eq!(read.preferences, [second.clone(), Preferences::default(), first, second]);
    assert_eq!(read.suppressed, [None, Some(Suppression::Bounced), Some(Suppression::Bounced)]);
}

pub async fn more_recipients_are_read_than_one_statement_names(fixture: NotificationFixture) {
    let mut keys: Vec<String> = (0..1_100).map(|_| key()).collect();
    let last = change(&fixture.store, &keys[1_099], &["any/any=off"]).await;
    let read = consents(&fixture.store, &keys, &[address()]).await;
    assert_eq!((read.preferences.len(), &read.preferences[1_099]), (1_100, &last));
    assert_eq!(read.preferences.iter().filter(|wants| **wants != Preferences::default()).count(), 1);
    keys.truncate(1);
    let addresses: Vec<Address> = (0..600).map(|_| address()).collect();
    suppress(&fixture.store, &addresses[599], Suppression::Complained, None).await;
    let read = consents(&fixture.store, &keys, &addresses).await;
    assert_eq!(read.suppressed.iter().flatten().count(), 1);
    assert_eq!(read.suppressed[599], Some(Suppression::Complained));
}

pub async fn changes_of_one_recipient_at_a_time_are_all_kept(fixture: NotificationFixture) {
    let key = key();
    let texts: Vec<String> = (0..8).map(|n| format!("email/category-{n}=off")).collect();
    let sides = [&fixture.store, &fixture.rival];
    let changes =
        texts.iter().enumerate().map(|(n, text)| change(sides[n % 2], &key, std::slice::from_ref(text)));
    join_all(changes).await;
    let read = consents(&fixture.store, &[key], &[]).await;
    let mut about: Vec<String> = read.preferences[0].rules.iter().map(|rule| rule.about()).collect();
    about.sort_unstable();
    let expected: Vec<String> = (0..8).map(|n| format!("email/category-{n}")).collect();
    assert_eq!(about, expected);
}

pub async fn a_change_that_is_refused_changes_nothing(fixture: NotificationFixture) {
    let key = key();
    let before = change(&fixture.store, &key, &["any/orders=off"]).await;
    let too_many: Vec<String> = (0..=Preferences::MAX_RULES).map(|n| format!("email/c{n}=off")).collect();
    let refused = fixture.store.preferences.change(&key, &changes(&too_many)).await.expect_err("too many");
    assert_eq!(refused.kind(), StoreErrorKind::Corrupt, "{refused}");
    assert_eq!(consents(&fixture.rival, &[key], &[]).await.preferences, [before]);
}

/// Promise: a recipient's preferences are replaced only if nothing has changed since they were read, where the caller asks for that
/// Guard: preferences that have changed are not replaced under a condition |
/// domain/src/notification/consent/preference_change.rs `apply`: no refusal
/// Guard: the condition holds until the preferences are replaced | adapters/sea-orm/src/notifications/preferences.rs `change_once`: the
/// preferences are read before the transaction
pub async fn preferences_that_changed_since_they_were_read_are_not_replaced(fixture: NotificationFixture) {
    let key = key();
    let wanted = |n: usize| changed(Preferences::default(), &[format!("email/category-{n}=off")]);
    let replace = async |ports: &NotificationPorts, before: &Preferences, n: usize| {
        let before = vec![Fingerprint::of(&[b"another"]), Fingerprint::of_json(before)];
        ports.preferences.change(&key, &[PreferenceChange::AllIf { before, wanted: wanted(n) }]).await
    };
    let nothing = Preferences::default();
    let click = change(&fixture.rival, &key, &["any/marketing=off"]).await;
    let refused = replace(&fixture.store, &nothing, 0).await.expect_err("a change in between");
    assert_eq!(refused.kind(), StoreErrorKind::Conflict, "{refused}");
    let kept = async || consents(&fixture.rival, std::slice::from_ref(&key), &[]).await.preferences;
    assert_eq!(kept().await, std::slice::from_ref(&click));
    // Of callers that have read the same, one is first.
    let sides = [&fixture.store, &fixture.rival];
    let answers = join_all((0..8).map(|n| replace(sides[n % 2], &click, n))).await;
    let firsts: Vec<_> = answers.iter().flatten().collect();
    assert!(firsts.len() == 1 && answers.iter().flatten().eq(&kept().await), "{answers:?}");
    let first = answers.iter().position(Result::is_ok).expect("one");
    assert_eq!(replace(&fixture.store, &click, first).await.expect("the same again"), wanted(first));
}

pub async fn of_two_reasons_to_suppress_an_address_the_stronger_one_is_kept(fixture: NotificationFixture) {
    use Suppression::{Bounced, Complained, Unsubscribed};
    for (one, two, kept) in [
        (Unsubscribed, Bounced, Bounced),
        (Bounced, Unsubscribed, Bounced),
        (Bounced, Complained, Complained),
        (Complained, Bounced, Complained),
        (Unsubscribed, Unsubscribed, Unsubscribed),
    ] {
        let address = address();
        suppress(&fixture.store, &address, one, Some("first")).await;
        suppress(&fixture.rival, &address, two, None).await;
        let read = consents(&fixture.store, &[], std::slice::from_ref(&address)).await;
        assert_eq!(read.suppressed, [Some(kept)], "{one} and then {two}");
        assert_eq!(notes(&fixture, &address).await, ["first"]);
        suppress(&fixture.rival, &address, two, Some("second")).await;
        assert_eq!(notes(&fixture, &address).await, ["second"]);
    }
}

pub async fn an_address_is_suppressed_however_it_is_spelled_until_it_is_lifted(fixture: NotificationFixture) {
    let name = Uuid::now_v7();
    let spelled = |text: &str| Address::new(Channel::Email, &format!("{name}{text}"));
    suppress(&fixture.store, &spelled("@Example.com"), Suppression::Bounced, None).await;
    let other = spelled("@example.COM ");
    let suppressed = consents(&fixture.rival, &[], std::slice::from_ref(&other)).await.suppressed;
    assert_eq!(suppressed, [Some(Suppression::Bounced)]);
    let chat = Address::new(Channel::Chat, other.as_str());
    assert_eq!(consents(&fixture.rival, &[], &[chat]).await.suppressed, [None]);
    assert!(fixture.rival.suppressions.lift(&other).await.expect("lift"));
    assert!(!fixture.store.suppressions.lift(&other).await.expect("lift"));
    assert_eq!(consents(&fixture.store, &[], &[other]).await.suppressed, [None]);
}

pub async fn suppressed_addresses_are_read_page_by_page(fixture: NotificationFixture) {
    let mut expected: Vec<Address> = (0..7).map(|_| address()).collect();
    for address in &expected {
        suppress(&fixture.store, address, Suppression::Bounced, None).await;
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = fixture.rival.suppressions.suppressed(after, 3).await.expect("a page");
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after = Some(last.key);
        found.extend(page.into_iter().filter(|one| expected.contains(&one.address)));
    }
    assert!(found.iter().all(|one| one.age < Duration::from_secs(3_600) && one.note.is_none()));
    let mut found: Vec<Address> = found.into_iter().map(|one| one.address).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

pub async fn answers_have_the_time_of_the_store(fixture: NotificationFixture) {
    let first = consents(&fixture.store, &[], &[]).await.since_1970;
    let second = consents(&fixture.rival, &[key()], &[address()]).await.since_1970;
    assert!(second >= first && second - first < Duration::from_secs(600), "{first:?} and then {second:?}");
    assert!(first > Duration::from_secs(1_600_000_000), "{first:?} is long ago");
}

/// The notes of a suppressed address.
async fn notes(fixture: &NotificationFixture, address: &Address) -> Vec<String> {
    let all = fixture.store.suppressions.suppressed(None, 10_000).await.expect("a page");
    all.into_iter().filter(|one| one.address == *address).filter_map(|one| one.note).collect()
}

async fn suppress(ports: &NotificationPorts, address: &Address, reason: Suppression, note: Option<&str>) {
    let note = note.map(str::to_owned);
    ports.suppressions.suppress(address, reason, note).await.expect("suppress");
}

async fn consents(ports: &NotificationPorts, recipients: &[String], addresses: &[Address]) -> ConsentsRead {
    ports.preferences.consents(recipients, addresses).await.expect("read")
}

async fn change(ports: &NotificationPorts, key: &str, texts: &[impl AsRef<str>]) -> Preferences {
    ports.preferences.change(key, &changes(texts)).await.expect("change")
}

fn changes(texts: &[impl AsRef<str>]) -> Vec<PreferenceChange> {
    texts.iter().map(|text| text.as_ref().parse().expect("a change")).collect()
}

fn changed(before: Preferences, texts: &[impl AsRef<str>]) -> Preferences {
    let all = changes(texts);
    all.iter().try_fold(before, |before, change| change.apply(before)).expect("preferences")
}

/// The key of a recipient of its own.
fn key() -> String {
    format!("user:{}", Uuid::now_v7())
}

/// An address that no other recipient has.
fn address() -> Address {
    Address::new(Channel::Email, &format!("{}@example.com", Uuid::now_v7()))
}
