use claimstream_domain::{Disposition, Enqueued::New, Settled::Accepted, Settlement};
use claimstream_ports::StoreErrorKind;

use crate::Fixture;
use crate::suite::{Case, cases};

pub const CLAUSES: &[Case<Fixture>] = cases!["payload" needs [SmallPayload]:
    a_payload_of_exactly_the_limit_is_taken_in needs [Store],
    a_payload_over_the_limit_is_refused_and_nothing_of_the_call_is_inserted needs [Store],
    a_refused_payload_leaves_the_transaction_usable needs [Store],
    a_child_over_the_payload_limit_is_refused_and_its_parent_stays_claimed,
];

pub async fn a_payload_of_exactly_the_limit_is_taken_in(fixture: Fixture) {
    let sent = fixture.message_of(fixture.facts.payload_limit.bytes());
    assert_eq!(fixture.store.enqueue(std::slice::from_ref(&sent)).await, [New]);
    assert!(fixture.rival.take_one().await.message.payload == sent.payload, "the payload came back changed");
}

pub async fn a_payload_over_the_limit_is_refused_and_nothing_of_the_call_is_inserted(fixture: Fixture) {
    let tx = fixture.store.begin().await;
    let large = fixture.message_of(fixture.facts.payload_limit.bytes() + 1);
    let call = [fixture.unique_message("x"), large, fixture.message()];
    let error = tx.enqueue(&call).await.expect_err("too large");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    tx.commit().await.expect("commit");
    fixture.rival.finds_nothing().await;
    assert_eq!(fixture.store.enqueue(&[fixture.unique_message("x")]).await, [New]);
}

pub async fn a_refused_payload_leaves_the_transaction_usable(fixture: Fixture) {
    let before = fixture.message();
    let after = fixture.message();
    let tx = fixture.store.begin().await;
    tx.enqueue(std::slice::from_ref(&before)).await.expect("enqueue");
    let large = fixture.message_of(fixture.facts.payload_limit.bytes() + 1);
    tx.enqueue(&[large]).await.expect_err("too large");
    tx.enqueue(std::slice::from_ref(&after)).await.expect("enqueue");
    tx.commit().await.expect("commit");
    let mut found: Vec<_> = fixture.rival.take_all().await.into_iter().map(|c| c.message.id).collect();
    found.sort();
    assert_eq!(found, [before.id, after.id]);
}

pub async fn a_child_over_the_payload_limit_is_refused_and_its_parent_stays_claimed(fixture: Fixture) {
    fixture.enqueue(1).await;
    let claimed = fixture.store.take_one().await;
    let child = fixture.message_of(fixture.facts.payload_limit.bytes() + 1);
    let disposition = Disposition::Done { emit: vec![child] };
    let batch = [Settlement { receipt: claimed.receipt.clone(), disposition }];
    let error = fixture.store.ports.settlements.settle(&batch).await.expect_err("too large");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    fixture.rival.finds_nothing().await;
    assert_eq!(fixture.store.ack(&claimed).await, Accepted);
    assert_eq!(fixture.store.status().await, None);
}
