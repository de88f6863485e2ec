//! Promise: a user whose entry cannot be read keeps no other user from a request, and can be erased

use claimstream_domain::notification::{
    Channel, ERASED, Recipient, SegmentPlace,
    consent::{Address, Suppression},
};
use claimstream_ports::notification::{
    DirectoryRepository, EraseRecipient, FoundUsers, RecipientDirectory, SegmentPage, Suppressions,
};
use sea_orm::ConnectionTrait;

use crate::{Suite, backend::SeaOrmBackend};

pub(super) fn add_to(suite: &mut Suite, store: &str, backend: impl Fn() -> SeaOrmBackend) {
    let name = |what: &str| format!("{store}::producers::a_wrong_entry_of_the_directory_{what}");
    let (erasing, backend) = (backend(), backend());
    // Guard: the addresses of a user are erased also where the rest of its entry cannot be read |
    // adapters/sea-orm/src/notifications/people.rs `addresses`: `None` for it
    suite.add_async_test(&name("can_be_erased"), async move { can_be_erased(&erasing).await });
    // Guard: a page of a segment names the members that it cannot read |
    // adapters/sea-orm/src/notifications/people.rs `page_of`: only members
    suite.add_async_test(&name("stops_no_other"), async move { stops_no_other(&backend).await });
}

async fn stops_no_other(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    let users = ["a", "b", "c"].map(Recipient::user);
    for wrong in ["time_zone = 'Mars/Olympus'", "attributes = '{'", "email = x'ff'"] {
        DirectoryRepository::put(&outbox, &users, Some("vip".into())).await.expect("put");
        let update = format!("UPDATE claimstream_directory_user SET {wrong} WHERE user_id = 'b'");
        outbox.connection().execute_unprepared(&update).await.expect(wrong);
        let ids = ["c", "b", "x", "a", "b"].map(str::to_owned);
        let [a, _, c] = users.clone();
        let found =
            FoundUsers { users: vec![Some(c), None, None, Some(a), None], unreadable: vec!["b".into()] };
        assert_eq!(outbox.users(&ids).await.expect("users"), found, "{wrong}");
        for segment in ["vip", "all"] {
            let page = |place: SegmentPlace, limit| {
                let outbox = outbox.clone();
                async move { outbox.members(segment, &place, limit).await.expect("a page").expect("known") }
            };
            let [a, _, c] = users.clone();
            let b = || vec!["b".to_owned()];
            let whole = SegmentPage { members: vec![a.clone(), c.clone()], unreadable: b(), next: None };
            assert_eq!(page(SegmentPlace::Start, 9).await, whole, "{wrong}");
            assert_eq!(outbox.list(&SegmentPlace::Start, 9).await.expect("a list"), whole, "{wrong}");
            let first = SegmentPage { members: vec![a], unreadable: b(), next: Some("b".into()) };
            assert_eq!(page(SegmentPlace::Start, 2).await, first, "{wrong}");
            let last = SegmentPage { members: vec![c], ..SegmentPage::default() };
            assert_eq!(page(SegmentPlace::After("b".into()), 2).await, last, "{wrong}");
        }
    }
}

/// A suppressed address says no more whose it was, whatever else of the entry cannot be read.
async fn can_be_erased(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    for (n, wrong) in
        ["time_zone = 'Mars/Olympus'", "attributes = '{'", "email = x'ff'"].into_iter().enumerate()
    {
        let phone = format!("+4915100000{n:02}");
        let user = Recipient { phone: Some(phone.clone()), ..Recipient::user("b") };
        DirectoryRepository::put(&outbox, &[user], Some("vip".into())).await.expect("put");
        let suppressed =
            outbox.suppress(&Address::new(Channel::Sms, &phone), Suppression::Bounced, None).await;
        suppressed.expect("suppress");
        let update = format!("UPDATE claimstream_directory_user SET {wrong} WHERE user_id = 'b'");
        outbox.connection().execute_unprepared(&update).await.expect(wrong);
        outbox.erase("user:b", &[]).await.expect(wrong);
        assert_eq!(outbox.users(&["b".to_owned()]).await.expect("users"), vec![None].into(), "{wrong}");
        let listed = outbox.suppressed(None, 10).await.expect("suppressions");
        assert_eq!(listed.len(), n + 1);
        assert!(listed.iter().all(|one| one.address.as_str() == ERASED), "{wrong}: {listed:?}");
    }
}
