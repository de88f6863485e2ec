//! What a call takes, it takes in one order, whatever the order that the caller names: two calls do not wait for each other.

use claimstream_domain::{
    DedupKey,
    Enqueued::{Duplicate, New},
    notification::{RecipientReference, Submitted},
};
use claimstream_ports::notification::SubmitRequests;

use super::setup::Setup;
use crate::fixture::mail_to;
use claimstream_testbed::statement_waits;

/// Two calls with the same keys in orders of their own would wait for each other, and one would lose its whole transaction.
/// Guard: dedup keys are reserved in one order | adapters/sea-orm/src/enqueue/rows.rs `dedup_rows`: in the
/// caller's
pub(super) async fn dedup_keys_are_reserved_in_one_order(setup: &Setup) {
    let unique = |key: &str| setup.message().unique_by(DedupKey::new(key).expect("a key"));
    let (a, b) = (unique("a"), unique("b"));
    let exported = setup.outbox.enqueue_statements(&[b.clone(), a.clone()]).expect("statements");
    // Texts are bytes on a server.
    let values = format!("{:?}", exported.inserts[0].1).replace("[97]", "\"a\"").replace("[98]", "\"b\"");
    assert!(values.find("\"a\"").expect("a key") < values.find("\"b\"").expect("a key"), "{values}");
    assert_eq!(setup.outbox.enqueue_now(&[b, a.clone()]).await.expect("enqueue"), [New, New]);
    let call = [unique("c"), unique("a"), unique("c")];
    assert_eq!(setup.outbox.enqueue_now(&call).await.expect("enqueue"), [New, Duplicate, Duplicate]);
}

/// The call names the second request before the first, which another transaction holds. While it waits, the second is free.
/// Guard: requests are submitted in one order | adapters/sea-orm/src/notifications/requests.rs `submit`: in
/// the caller's
pub(super) async fn a_submission_that_waits_has_taken_nothing_that_comes_after(setup: &Setup) {
    let mut requests = [0, 1].map(|n| mail_to(RecipientReference::User { user: format!("user-{n}") }));
    requests.sort_by_key(|request| request.id);
    let [first, second] = requests;
    let holder = setup.outbox.begin().await.expect("begin");
    let held = setup.outbox.submit(&holder, std::slice::from_ref(&first)).await.expect("submit");
    assert_eq!(held, [Submitted::New]);
    let (outbox, call) = (setup.outbox.clone(), [second.clone(), first]);
    let waiting = tokio::spawn(async move { outbox.submit_now(&call).await });
    statement_waits(&setup.outbox).await;
    let second_alone = setup.outbox.submit_now(std::slice::from_ref(&second)).await;
    assert_eq!(second_alone.expect("the second is free"), [Submitted::New]);
    holder.rollback().await.expect("roll back");
    assert_eq!(waiting.await.expect("no panic").expect("submit"), [Submitted::Replayed, Submitted::New]);
}
