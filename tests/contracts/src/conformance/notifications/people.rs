//! Users with their addresses, and the segments that they are in.
//! Promise: a member of a segment for the whole fan-out receives one message, whatever others come and go,
//! and also if a process of version 0.1 began it

use claimstream_domain::notification::{DirectoryEntry, Recipient, SegmentPlace};
use claimstream_ports::{StoreErrorKind, notification::SegmentPage};
use futures::future::join;

use crate::{
    NotificationFixture, NotificationPorts,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications, Store]:
    a_user_that_was_put_is_read_by_others_with_all_that_is_known_of_it,
    a_user_that_is_put_again_is_another_one_in_the_same_segments,
    users_are_answered_in_order_known_or_not,
    more_users_are_read_than_one_statement_names,
    a_segment_is_read_page_by_page_and_its_last_page_says_so,
    a_member_that_stays_is_on_one_page_while_others_come_and_go,
    an_empty_segment_is_known_and_one_that_was_never_made_is_not,
    everybody_is_the_segment_of_all_users,
    no_user_joins_a_segment_in_a_call_with_an_unknown_one,
    a_user_that_leaves_a_segment_is_in_the_others,
    a_user_that_is_removed_is_in_no_segment_when_it_comes_again,
    a_user_that_is_removed_while_it_joins_leaves_no_trace,
    what_no_directory_can_keep_is_refused_with_its_whole_call,
    users_are_listed_by_id_from_one_on,
];

pub async fn a_user_that_was_put_is_read_by_others_with_all_that_is_known_of_it(
    fixture: NotificationFixture,
) {
    let id = ids(&fixture);
    let json = format!(
        r#"{{"user":"{}","email":"ann@example.com","phone":"+491","device_token":"t","webhook":"http://h/","chat":"C1",
        "language":"de","time_zone":"Europe/Berlin","attributes":{{"name":"Ann ü","seats":3,"tags":["a",null]}}}}"#,
        id(1)
    );
    let user: Recipient = serde_json::from_str(&json).expect("a user");
    put(&fixture.store, std::slice::from_ref(&user), None).await;
    let read = users(&fixture.rival, &[&id(1)]).await;
    assert_eq!(read, [Some(Recipient { key: Recipient::user(&id(1)).key, ..user })]);
}

pub async fn a_user_that_is_put_again_is_another_one_in_the_same_segments(fixture: NotificationFixture) {
    let id = ids(&fixture);
    let (user, segment) = (member(&id(1)), id(9));
    put(&fixture.store, std::slice::from_ref(&user), Some(&segment)).await;
    let other = Recipient { email: None, phone: Some("+491".into()), ..user.clone() };
    put(&fixture.rival, &[user, other.clone()], None).await;
    let segments = vec![segment];
    assert_eq!(entry(&fixture.store, &id(1)).await, Some(DirectoryEntry { user: other, segments }));
}

pub async fn users_are_answered_in_order_known_or_not(fixture: NotificationFixture) {
    let id = ids(&fixture);
    put(&fixture.store, &[member(&id(2)), member(&id(1))], None).await;
    let read = users(&fixture.rival, &[&id(1), &id(7), &id(2), &id(1)]).await;
    assert_eq!(read, [Some(member(&id(1))), None, Some(member(&id(2))), Some(member(&id(1)))]);
    assert!(users(&fixture.rival, &[]).await.is_empty());
}

pub async fn more_users_are_read_than_one_statement_names(fixture: NotificationFixture) {
    let id = ids(&fixture);
    let ids: Vec<String> = (0..1_100).map(id).collect();
    let all: Vec<Recipient> = ids.iter().map(|id| member(id)).collect();
    put(&fixture.store, &all, None).await;
    let asked: Vec<&str> = ids.iter().map(String::as_str).collect();
    let read = users(&fixture.rival, &asked).await;
    assert!(read.iter().zip(&all).all(|(read, put)| read.as_ref() == Some(put)));
    assert_eq!(read.len(), 1_100);
}

pub async fn a_segment_is_read_page_by_page_and_its_last_page_says_so(fixture: NotificationFixture) {
    let id = ids(&fixture);
    let segment = id(9);
    let all: Vec<Recipient> = (0..7).map(|n| member(&id(n))).collect();
    put(&fixture.store, &[all[4..].to_vec(), all[..4].to_vec()].concat(), Some(&segment)).await;
    let (mut read, mut from, mut pages) = (Vec::new(), SegmentPlace::Start, 0);
    loop {
        let page = members(&fixture.rival, &segment, &from, 3).await.expect("a segment");
        assert!(page.members.len() <= 3);
        read.extend(page.members);
        pages += 1;
        match page.next {
            Some(next) => from = SegmentPlace::After(next),
            None => break,
        }
    }
    let mut keys: Vec<_> = all.iter().map(|user| &user.key).collect();
    keys.sort_unstable();
    assert_eq!(read.iter().map(|user| &user.key).collect::<Vec<_>>(), keys);
    assert_eq!(pages, 3);
}

pub async fn a_member_that_stays_is_on_one_page_while_others_come_and_go(fixture: NotificationFixture) {
    let id = ids(&fixture);
    let segment = id(99);
    let staying: Vec<Recipient> = (0..20).map(|n| member(&id(2 * n))).collect();
    put(&fixture.store, &staying, Some(&segment)).await;
    let (mut seen, mut from, mut turn) = (Vec::new(), SegmentPlace::Start, 0);
    loop {
        let page = members(&fixture.store, &segment, &from, 4).await.expect("a segment");
        seen.extend(page.members.into_iter().map(|user| user.key));
        // One comes before the place, one behind it, and the one from the turn before goes.
        let come = [id(1), id(2 * turn + 1)].map(|id| member(&id));
        put(&fixture.rival, &come, Some(&segment)).await;
        let gone = turn.checked_sub(1).map(|turn| id(2 * turn + 1)).unwrap_or_else(|| id(1));
        fixture.rival.people.remove_members(&segment, &[gone]).await.expect("remove");
        turn += 1;
        match page.next {
            Some(next) => from = SegmentPlace::After(next),
            None => break,
        }
    }
    for user in &staying {
        assert_eq!(seen.iter().filter(|key| **key == user.key).count(), 1, "{} in {seen:?}", user.key);
    }
}

pub async fn an_empty_segment_is_known_and_one_that_was_never_made_is_not(fixture: NotificationFixture) {
    let id = ids(&fixture);
    put(&fixture.store, &[], Some(&id(9))).await;
    let empty = members(&fixture.rival, &id(9), &SegmentPlace::Start, 9).await;
    let never = members(&fixture.rival, &id(8), &SegmentPlace::Start, 9).await;
    assert_eq!((empty, never), (Some(SegmentPage::default()), None));
}

pub async fn everybody_is_the_segment_of_all_users(fixture: NotificationFixture) {
    let id = ids(&fixture);
    let all: Vec<Recipient> = (0..5).map(|n| member(&id(n))).collect();
    put(&fixture.store, &all, None).await;
    let (mut read, mut from) = (0, SegmentPlace::Start);
    loop {
        let page = members(&fixture.rival, "all", &from, 400).await.expect("everybody");
        read += page.members.iter().filter(|user| all.contains(user)).count();
        match page.next {
            Some(next) => from = SegmentPlace::After(next),
            None => break,
        }
    }
    assert_eq!(read, 5);
}

pub async fn no_user_joins_a_segment_in_a_call_with_an_unknown_one(fixture: NotificationFixture) {
    let id = ids(&fixture);
    put(&fixture.store, &[member(&id(1)), member(&id(2))], None).await;
    let segment = id(9);
    let join = async |ids: Vec<String>| fixture.store.people.put_members(&segment, &ids).await.expect("join");
    assert_eq!(join(vec![id(1), id(7), id(2), id(8)]).await, [id(7), id(8)]);
    assert_eq!(members(&fixture.rival, &id(9), &SegmentPlace::Start, 9).await, None);
    for _ in 0..2 {
        assert!(join(vec![id(2), id(1)]).await.is_empty());
        let page = members(&fixture.rival, &id(9), &SegmentPlace::Start, 9).await.expect("a segment");
        assert_eq!(page.members, [member(&id(1)), member(&id(2))]);
    }
}

pub async fn a_user_that_leaves_a_segment_is_in_the_others(fixture: NotificationFixture) {
    let id = ids(&fixture);
    for segment in [id(8), id(9)] {
        put(&fixture.store, &[member(&id(1)), member(&id(2))], Some(&segment)).await;
    }
    for left in [2, 0] {
        let people = &fixture.rival.people;
        assert_eq!(people.remove_members(&id(8), &[id(1), id(2), id(3)]).await.expect("leave"), left);
    }
    assert_eq!(entry(&fixture.store, &id(1)).await.expect("a user").segments, [id(9)]);
    let empty = members(&fixture.store, &id(8), &SegmentPlace::Start, 9).await;
    assert_eq!(empty, Some(SegmentPage::default()));
}

pub async fn a_user_that_is_removed_is_in_no_segment_when_it_comes_again(fixture: NotificationFixture) {
    let id = ids(&fixture);
    put(&fixture.store, &[member(&id(1)), member(&id(2))], Some(&id(9))).await;
    for there in [true, false] {
        assert_eq!(fixture.rival.people.remove(&id(1)).await.expect("remove"), there);
        assert_eq!(entry(&fixture.store, &id(1)).await, None);
    }
    put(&fixture.store, &[member(&id(1))], None).await;
    assert_eq!(entry(&fixture.rival, &id(1)).await.expect("a user").segments, Vec::<String>::new());
    assert_eq!(entry(&fixture.rival, &id(2)).await.expect("a user").segments, [id(9)]);
}

/// Guard: a user stays while it is added to a segment | adapters/sea-orm/src/sql/directory/share.sql: no
/// `{for_share}`; fails on servers
pub async fn a_user_that_is_removed_while_it_joins_leaves_no_trace(fixture: NotificationFixture) {
    let id = ids(&fixture);
    for n in 0..8 {
        let (user, segment) = (id(n), id(99));
        put(&fixture.store, &[member(&user)], None).await;
        let ids = [user.clone()];
        let joins = fixture.store.people.put_members(&segment, &ids);
        let goes = fixture.rival.people.remove(&user);
        let (joined, gone) = join(joins, goes).await;
        assert!(gone.expect("remove") && joined.expect("join").len() <= 1);
        put(&fixture.store, &[member(&user)], None).await;
        assert_eq!(entry(&fixture.rival, &user).await.expect("a user").segments, Vec::<String>::new());
    }
}

pub async fn what_no_directory_can_keep_is_refused_with_its_whole_call(fixture: NotificationFixture) {
    let id = ids(&fixture);
    let bad = Recipient { key: "another".into(), ..member(&id(2)) };
    let people = &fixture.store.people;
    let refused = people.put(&[member(&id(1)), bad], None).await.expect_err("another key");
    assert_eq!(refused.kind(), StoreErrorKind::Corrupt, "{refused}");
    let refused = people.put(&[member(&id(1))], Some("s".repeat(129))).await.expect_err("a long name");
    assert_eq!(refused.kind(), StoreErrorKind::Corrupt, "{refused}");
    assert_eq!(users(&fixture.rival, &[&id(1), &id(2)]).await, [None, None]);
}

/// Guard: a page of users begins after its key | adapters/sea-orm/src/sql/directory/page.sql: `>=`
pub async fn users_are_listed_by_id_from_one_on(fixture: NotificationFixture) {
    let id = ids(&fixture);
    let all: Vec<Recipient> = (0..5).map(|n| member(&id(n))).collect();
    put(&fixture.store, &all, None).await;
    let list = |from: SegmentPlace, limit| {
        let people = &fixture.rival.people;
        async move { people.list(&from, limit).await.expect("a page") }
    };
    let page = list(SegmentPlace::After(id(1)), 2).await;
    assert_eq!((page.members.as_slice(), page.next), (&all[2..4], Some(id(3))));
    let first = list(SegmentPlace::Start, 3).await.members;
    assert!(first.len() == 3 && first.is_sorted_by_key(|user| user.user.clone()));
}

/// Ids that no other test has, in the order of their numbers.
fn ids(fixture: &NotificationFixture) -> impl Fn(usize) -> String + use<> {
    let test = fixture.outbox.queue().as_str().to_owned();
    move |n| format!("{test}-{n:04}")
}

fn member(id: &str) -> Recipient {
    Recipient { email: Some(format!("{id}@example.com")), ..Recipient::user(id) }
}

async fn put(ports: &NotificationPorts, users: &[Recipient], segment: Option<&str>) {
    ports.people.put(users, segment.map(str::to_owned)).await.expect("put");
}

async fn users(ports: &NotificationPorts, ids: &[&str]) -> Vec<Option<Recipient>> {
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    let found = ports.directory.users(&ids).await.expect("users");
    assert!(found.unreadable.is_empty());
    found.users
}

async fn members(
    ports: &NotificationPorts,
    segment: &str,
    from: &SegmentPlace,
    limit: u32,
) -> Option<SegmentPage> {
    ports.directory.members(segment, from, limit).await.expect("members")
}

async fn entry(ports: &NotificationPorts, id: &str) -> Option<DirectoryEntry> {
    ports.people.entry(id).await.expect("an entry")
}
