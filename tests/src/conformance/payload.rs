use claimstream_domain::{Disposition, Enqueued::New, Settled::Accepted, Settlement};
use claimstream_ports::StoreErrorKind;

use super::{Clause, clauses};
use crate::Stage;

pub const CLAUSES: &[Clause<Stage>] = clauses!["payload":
    a_payload_of_exactly_the_limit_is_taken_in,
    a_payload_over_the_limit_is_refused_and_nothing_of_the_call_is_inserted,
    a_refused_payload_leaves_the_transaction_usable,
    a_child_over_the_payload_limit_is_refused_and_its_parent_stays_claimed,
];

pub async fn a_payload_of_exactly_the_limit_is_taken_in(stage: Stage) {
    let sent = stage.message_of(stage.facts.payload_limit.bytes());
    assert_eq!(stage.store.enqueue(std::slice::from_ref(&sent)).await, [New]);
    assert!(stage.rival.take_one().await.message.payload == sent.payload, "the payload came back changed");
}

pub async fn a_payload_over_the_limit_is_refused_and_nothing_of_the_call_is_inserted(stage: Stage) {
    let tx = stage.store.begin().await;
    let large = stage.message_of(stage.facts.payload_limit.bytes() + 1);
    let call = [stage.unique_message("x"), large, stage.message()];
    let error = tx.enqueue(&call).await.expect_err("too large");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    tx.commit().await.expect("commit");
    stage.rival.finds_nothing().await;
    assert_eq!(stage.store.enqueue(&[stage.unique_message("x")]).await, [New]);
}

pub async fn a_refused_payload_leaves_the_transaction_usable(stage: Stage) {
    let before = stage.message();
    let after = stage.message();
    let tx = stage.store.begin().await;
    tx.enqueue(std::slice::from_ref(&before)).await.expect("enqueue");
    let large = stage.message_of(stage.facts.payload_limit.bytes() + 1);
    tx.enqueue(&[large]).await.expect_err("too large");
    tx.enqueue(std::slice::from_ref(&after)).await.expect("enqueue");
    tx.commit().await.expect("commit");
    let mut found: Vec<_> = stage.rival.take_all().await.into_iter().map(|c| c.message.id).collect();
    found.sort();
    assert_eq!(found, [before.id, after.id]);
}

pub async fn a_child_over_the_payload_limit_is_refused_and_its_parent_stays_claimed(stage: Stage) {
    stage.enqueue(1).await;
    let claimed = stage.store.take_one().await;
    let child = stage.message_of(stage.facts.payload_limit.bytes() + 1);
    let disposition = Disposition::Done { emit: vec![child] };
    let batch = [Settlement { receipt: claimed.receipt.clone(), disposition }];
    let error = stage.store.ports.settlements.settle(&batch).await.expect_err("too large");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    stage.rival.finds_nothing().await;
    assert_eq!(stage.store.ack(&claimed).await, Accepted);
    assert_eq!(stage.store.status().await, None);
}
