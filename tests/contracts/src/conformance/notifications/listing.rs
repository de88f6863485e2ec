//! Lists of requests.

use std::collections::BTreeSet;

use claimstream_domain::notification::{NotificationRequest, RequestStatus, Requester, RequesterKind};
use claimstream_ports::notification::{Cancelled, RequestFilter, RequestPage};
use uuid::Uuid;

use super::sample::plain_request;
use crate::{
    NotificationFixture,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<NotificationFixture>] = cases!["notifications" needs [Notifications, Store]:
    requests_are_listed_the_newest_first_and_each_once,
    a_list_has_what_its_filter_lets_through,
    a_list_after_a_request_that_is_not_there_is_empty,
    one_request_is_what_its_list_says,
];

/// Hands so many requests in, one after another.
async fn submitted(fixture: &NotificationFixture, requests: u32) -> Vec<Uuid> {
    let mut ids = Vec::new();
    for n in 0..requests {
        // An id says nothing about an age.
        let request = NotificationRequest { id: Uuid::new_v5(&Uuid::now_v7(), b"any"), ..plain_request(n) };
        fixture.store.submit(std::slice::from_ref(&request)).await;
        ids.push(request.id);
    }
    ids
}

async fn page(fixture: &NotificationFixture, filter: &RequestFilter, after: Option<Uuid>) -> RequestPage {
    fixture.rival.list.list(filter, after, 3).await.expect("list")
}

/// What a list names from page to page, as far as it is ours.
async fn walk(fixture: &NotificationFixture, filter: &RequestFilter, ours: &[Uuid]) -> Vec<Uuid> {
    let (mut named, mut after) = (Vec::new(), None);
    loop {
        let RequestPage { requests, next } = page(fixture, filter, after).await;
        assert!(requests.len() <= 3 && requests.iter().all(|request| filter.matches(request)));
        named.extend(requests.iter().map(|request| request.id).filter(|id| ours.contains(id)));
        after = next;
        if after.is_none() {
            return named;
        }
    }
}

pub async fn requests_are_listed_the_newest_first_and_each_once(fixture: NotificationFixture) {
    let ids = submitted(&fixture, 8).await;
    let first = page(&fixture, &RequestFilter::default(), None).await;
    assert_eq!((first.requests.len(), first.next), (3, first.requests.last().map(|last| last.id)));
    let mut named = walk(&fixture, &RequestFilter::default(), &ids).await;
    let distinct: BTreeSet<_> = named.iter().copied().collect();
    assert_eq!((named.len(), distinct.len()), (8, 8), "{named:?}");
    let all = fixture.store.list.list(&RequestFilter::default(), None, 500).await.expect("list");
    let ages: Vec<_> = all.requests.iter().map(|request| request.age).collect();
    assert!(ages.is_sorted(), "{ages:?}");
    // A clock that stands still gives all the same age.
    named.reverse();
    assert!(named == ids || ages.windows(2).any(|pair| pair[0] == pair[1]), "{named:?} {ids:?}");
}

pub async fn a_list_has_what_its_filter_lets_through(fixture: NotificationFixture) {
    let ids = submitted(&fixture, 6).await;
    let cancelled = fixture.store.requests.cancel(ids[1]).await.expect("cancel");
    assert!(matches!(cancelled, Cancelled::Yes(_)), "{cancelled:?}");
    let cancelled = fixture.store.requests.cancel(ids[4]).await.expect("cancel");
    assert!(matches!(cancelled, Cancelled::Yes(_)), "{cancelled:?}");
    let cancelled = RequestFilter { status: Some(RequestStatus::Cancelled), requester: None };
    let mut named = walk(&fixture, &cancelled, &ids).await;
    named.sort_unstable();
    let mut expected = vec![ids[1], ids[4]];
    expected.sort_unstable();
    assert_eq!(named, expected);
    let of_one = RequestFilter { status: None, requester: Some("shop-3".into()) };
    assert_eq!(walk(&fixture, &of_one, &ids).await, [ids[3]]);
    let listed = page(&fixture, &of_one, None).await.requests;
    let shop = Requester { kind: RequesterKind::Service, id: "shop-3".into() };
    assert!(listed.iter().all(|listed| listed.requester == shop && listed.status == RequestStatus::Pending));
    let both = RequestFilter { status: Some(RequestStatus::Cancelled), requester: Some("shop-3".into()) };
    assert!(walk(&fixture, &both, &ids).await.is_empty());
}

pub async fn a_list_after_a_request_that_is_not_there_is_empty(fixture: NotificationFixture) {
    submitted(&fixture, 1).await;
    assert_eq!(page(&fixture, &RequestFilter::default(), Some(Uuid::now_v7())).await, RequestPage::default());
}

pub async fn one_request_is_what_its_list_says(fixture: NotificationFixture) {
    let ids = submitted(&fixture, 2).await;
    let all = fixture.store.list.list(&RequestFilter::default(), None, 500).await.expect("list");
    let one = fixture.rival.list.listed(ids[1]).await.expect("listed").expect("it is there");
    let of_list = all.requests.into_iter().find(|request| request.id == ids[1]).expect("it is listed");
    assert_eq!((one.id, one.status, one.requester), (of_list.id, of_list.status, of_list.requester));
    assert!(one.age >= of_list.age, "{:?} {:?}", one.age, of_list.age);
    assert_eq!(fixture.rival.list.listed(Uuid::now_v7()).await.expect("listed"), None);
}
