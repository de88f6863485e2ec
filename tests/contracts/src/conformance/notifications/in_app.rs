//! Inboxes inside the application.

use std::time::Duration;

use claimstream_domain::notification::{Content, InAppEntry, InAppPage, NewInAppEntry};
use uuid::Uuid;

use crate::{
    NotificationFixture, NotificationPorts,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications, Store]:
    an_entry_that_is_put_in_again_stays_as_it_is,
    a_users_entries_are_paged_the_newest_first,
    what_a_user_has_read_is_counted_once,
    those_who_wait_see_what_came_lately,
    old_entries_and_those_of_a_user_are_forgotten,
];

const SECOND: Duration = Duration::from_secs(1);

pub async fn an_entry_that_is_put_in_again_stays_as_it_is(fixture: NotificationFixture) {
    let (inbox, one) = (&fixture.store.in_app, entry("a", 1));
    inbox.put(&[one.clone(), entry("b", 2)]).await.expect("put");
    fixture.outbox.advance(SECOND).await;
    assert_eq!(fixture.rival.in_app.mark_read("a", &[one.id]).await.expect("mark"), 1);
    let again = NewInAppEntry { content: Content::default(), ..one.clone() };
    inbox.put(&[again, entry("a", 3)]).await.expect("put again");
    let kept = page(&fixture.rival, "a", None).await;
    assert_eq!(kept.iter().map(|kept| kept.entry.clone()).collect::<Vec<_>>(), [entry("a", 3), one]);
    assert_eq!(kept.iter().map(|kept| kept.is_read).collect::<Vec<_>>(), [false, true]);
    assert_eq!(kept.iter().map(|kept| kept.age).collect::<Vec<_>>(), [Duration::ZERO, SECOND]);
    assert_eq!(page(&fixture.store, "b", None).await.len(), 1);
}

pub async fn a_users_entries_are_paged_the_newest_first(fixture: NotificationFixture) {
    let inbox = &fixture.store.in_app;
    for n in 1..=3 {
        // Two at a moment: their ids decide.
        inbox.put(&[entry("a", 2 * n), entry("a", 2 * n + 1), entry("b", 100 + n)]).await.expect("put");
        fixture.outbox.advance(SECOND).await;
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = inbox.page(&InAppPage { limit: 4, ..of("a", after) }).await.expect("page");
        let Some(last) = page.last() else { break };
        after = Some(last.entry.id);
        seen.extend(page.iter().map(|one| one.entry.id.as_u128()));
    }
    assert_eq!(seen, [7, 6, 5, 4, 3, 2]);
    inbox.mark_read("a", &[id(7), id(4)]).await.expect("mark");
    let unread = InAppPage { only_unread: true, ..of("a", Some(id(6))) };
    let unread = inbox.page(&unread).await.expect("unread");
    assert_eq!(unread.iter().map(|one| one.entry.id.as_u128()).collect::<Vec<_>>(), [5, 3, 2]);
    assert_eq!(page(&fixture.store, "a", Some(id(101))).await, [], "after an entry of another user");
    assert_eq!(page(&fixture.store, "a", Some(id(999))).await, [], "after an entry that is gone");
}

pub async fn what_a_user_has_read_is_counted_once(fixture: NotificationFixture) {
    let (inbox, rival) = (&fixture.store.in_app, &fixture.rival.in_app);
    for n in 1..=5 {
        inbox.put(&[entry("a", n), entry("b", 10 + n)]).await.expect("put");
        fixture.outbox.advance(SECOND).await;
    }
    assert_eq!(rival.unread("a").await.expect("unread"), 5);
    assert_eq!(inbox.mark_read("a", &[id(5), id(11), id(77)]).await.expect("mark"), 1, "one of them is a's");
    assert_eq!(rival.mark_read("a", &[id(5)]).await.expect("mark"), 0);
    assert_eq!(rival.mark_read_up_to("a", id(12)).await.expect("mark"), 0, "an entry of another user");
    assert_eq!(rival.mark_read_up_to("a", id(3)).await.expect("mark"), 3);
    assert_eq!((inbox.unread("a").await.expect("unread"), inbox.unread("b").await.expect("unread")), (1, 5));
    let many: Vec<_> = (1_000..2_100).map(|n| entry("c", n)).collect();
    inbox.put(&many).await.expect("put");
    assert_eq!(rival.unread("c").await.expect("unread"), InAppEntry::MOST_UNREAD);
    assert_eq!(rival.mark_read_up_to("c", id(2_000)).await.expect("mark"), 1_100, "they came at one moment");
}

pub async fn those_who_wait_see_what_came_lately(fixture: NotificationFixture) {
    let inbox = &fixture.store.in_app;
    inbox.put(&[entry("a", 1)]).await.expect("put");
    fixture.outbox.advance(3 * SECOND).await;
    inbox.put(&[entry("a", 2), entry("c", 9)]).await.expect("put");
    fixture.outbox.advance(SECOND).await;
    inbox.put(&[entry("b", 3)]).await.expect("put");
    let recent = |users: &[&str], limit| {
        let users: Vec<String> = users.iter().map(|user| (*user).to_owned()).collect();
        let rival = fixture.rival.in_app.clone();
        async move {
            let recent = rival.recent(&users, 2 * SECOND, limit).await.expect("recent");
            recent.iter().map(|one| one.entry.id.as_u128()).collect::<Vec<_>>()
        }
    };
    assert_eq!(recent(&["a", "b"], 9).await, [3, 2]);
    assert_eq!(recent(&["a", "b"], 1).await, [3]);
    assert_eq!(recent(&["d"], 9).await, [0_u128; 0]);
    assert_eq!(recent(&[], 9).await, [0_u128; 0]);
}

pub async fn old_entries_and_those_of_a_user_are_forgotten(fixture: NotificationFixture) {
    let inbox = &fixture.store.in_app;
    inbox.put(&[entry("a", 1), entry("b", 2)]).await.expect("put");
    fixture.outbox.advance(SECOND).await;
    inbox.put(&[entry("a", 3), entry("a", 4), entry("a", 5)]).await.expect("put");
    assert_eq!(inbox.forget_older(SECOND, 9).await.expect("forget"), 0);
    fixture.outbox.advance(SECOND).await;
    assert_eq!(inbox.forget_older(SECOND, 1).await.expect("forget"), 1);
    assert_eq!(inbox.forget_older(SECOND, 9).await.expect("forget"), 1);
    assert_eq!(page(&fixture.store, "a", None).await.len(), 3);
    assert_eq!(inbox.forget_user("a", 2).await.expect("forget"), 2);
    assert_eq!(inbox.forget_user("a", 2).await.expect("forget"), 1);
    assert_eq!(page(&fixture.rival, "a", None).await, []);
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn entry(user: &str, n: u128) -> NewInAppEntry {
    let content = Content { title: Some(format!("\u{1f4ec} {n}")), ..Content::default() };
    NewInAppEntry { id: id(n), request_id: Uuid::from_u128(7), user: user.into(), content }
}

fn of(user: &str, after: Option<Uuid>) -> InAppPage {
    InAppPage { user: user.into(), only_unread: false, after, limit: 100 }
}

async fn page(ports: &NotificationPorts, user: &str, after: Option<Uuid>) -> Vec<InAppEntry> {
    ports.in_app.page(&of(user, after)).await.expect("page")
}
