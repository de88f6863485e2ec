//! Promise: a member of a segment whose entry cannot be read keeps no other member from a request

use claimstream_domain::notification::{Recipient, SegmentPlace};
use claimstream_ports::notification::{DirectoryRepository, RecipientDirectory, SegmentPage};
use sea_orm::ConnectionTrait;

use crate::{Suite, backend::SeaOrmBackend};

pub(super) fn add_to(suite: &mut Suite, store: &str, backend: SeaOrmBackend) {
    let name = format!("{store}::producers::a_wrong_entry_of_the_directory_stops_no_segment");
    // Guard: a page of a segment names the members that it cannot read |
    // adapters/sea-orm/src/notifications/people.rs `page_of`: only members
    suite.add_async_trial(&name, async move { stops_no_segment(&backend).await });
}

async fn stops_no_segment(backend: &SeaOrmBackend) {
    let url = backend.database().await.expect("a database");
    let outbox = backend.open(&url, None).await.expect("open");
    let users = ["a", "b", "c"].map(Recipient::user);
    for wrong in ["time_zone = 'Mars/Olympus'", "attributes = '{'", "email = x'ff'"] {
        DirectoryRepository::put(&outbox, &users, Some("vip".into())).await.expect("put");
        let update = format!("UPDATE claimstream_directory_user SET {wrong} WHERE user_id = 'b'");
        outbox.connection().execute_unprepared(&update).await.expect(wrong);
        for segment in ["vip", "all"] {
            let page = |place: SegmentPlace, limit| {
                let outbox = outbox.clone();
                async move { outbox.members(segment, &place, limit).await.expect("a page").expect("known") }
            };
            let [a, _, c] = users.clone();
            let b = || vec!["b".to_owned()];
            let whole = SegmentPage { members: vec![a.clone(), c.clone()], unreadable: b(), next: None };
            assert_eq!(page(SegmentPlace::Start, 9).await, whole, "{wrong}");
            let first = SegmentPage { members: vec![a], unreadable: b(), next: Some("b".into()) };
            assert_eq!(page(SegmentPlace::Start, 2).await, first, "{wrong}");
            let last = SegmentPage { members: vec![c], ..SegmentPage::default() };
            assert_eq!(page(SegmentPlace::After("b".into()), 2).await, last, "{wrong}");
        }
    }
}
