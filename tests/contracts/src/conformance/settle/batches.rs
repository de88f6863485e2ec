//! Batches of settlements, and the order of their answers.

use std::{collections::HashMap, time::Duration};

use claimstream_domain::{
    Claimed, Disposition, MessageId, NewMessage, Reason,
    Settled::{Accepted, Superseded},
    Settlement,
};

use super::{
    dispositions::{dispositions, done},
    repetition::accepted,
};
use crate::{
    Fixture, LEASE, ids,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["settle" needs [Claims, Settlements]:
    a_batch_is_answered_in_the_order_of_its_entries needs [Sharing],
    a_batch_over_shards_and_queues_is_answered_in_the_order_of_its_entries needs [Sharing],
    a_large_batch_is_settled_whole needs [Sharing],
    an_empty_batch_has_an_empty_answer,
    settling_one_message_leaves_the_others_alone,
];

pub async fn a_batch_is_answered_in_the_order_of_its_entries(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    let lost = fixture.store.take(1).await.remove(0);
    fixture.advance(LEASE).await;
    let claimed: HashMap<MessageId, Claimed> =
        fixture.rival.take(6).await.into_iter().map(|c| (c.message.id, c)).collect();
    let child = fixture.message();
    let of = |n: usize| claimed[&sent[n]].receipt.clone();
    let batch = [
        (of(5), Disposition::Returned),
        (lost.receipt, done()),
        (of(2), Disposition::dead(Reason::new("bad"))),
        (of(1), Disposition::Done { emit: vec![child.clone()] }),
        (of(2), done()),
        (of(3), Disposition::Retry { after: Duration::from_secs(9), reason: Reason::new("busy") }),
        (of(0), done()),
    ]
    .map(|(receipt, disposition)| Settlement { receipt, disposition });
    let answers = fixture.rival.settle_all(&batch).await;
    assert_eq!(answers, [Accepted, Superseded, Accepted, Accepted, Superseded, Accepted, Accepted]);
    let due: std::collections::HashSet<_> = ids(&fixture.store.take_all().await).into_iter().collect();
    assert_eq!(due, [sent[5], child.id].into());
    fixture.advance(Duration::from_secs(9)).await;
    assert_eq!(ids(&fixture.store.take_all().await), [sent[3]]);
    assert_eq!(fixture.store.dead().await[0].message.id, sent[2]);
}

pub async fn a_batch_over_shards_and_queues_is_answered_in_the_order_of_its_entries(fixture: Fixture) {
    let elsewhere = fixture.rival.on(&Fixture::fresh_queue());
    let here: Vec<_> = (0..8).map(|_| fixture.loose_message()).collect();
    let there: Vec<_> = here
        .iter()
        .map(|_| NewMessage { queue: elsewhere.queue().clone(), ..fixture.loose_message() })
        .collect();
    fixture.store.enqueue(&here).await;
    fixture.store.enqueue(&there).await;
    let (mine, theirs) = (fixture.store.take_all().await, elsewhere.take_all().await);
    assert_eq!((mine.len(), theirs.len()), (8, 8));
    let _ = elsewhere.ack(&theirs[3]).await;
    let mixed = theirs.iter().zip(&mine).flat_map(|(t, m)| [t, m]);
    let batch: Vec<_> =
        mixed.map(|c| Settlement { receipt: c.receipt.clone(), disposition: done() }).collect();
    let answers = fixture.store.settle_all(&batch).await;
    let superseded: Vec<usize> = (0..16).filter(|n| answers[*n] == Superseded).collect();
    assert_eq!((answers.len(), superseded), (16, vec![6]));
    assert_eq!((fixture.rival.status().await, elsewhere.status().await), (None, None));
}

pub async fn a_large_batch_is_settled_whole(fixture: Fixture) {
    let sent: Vec<_> = (0..700).map(|_| fixture.loose_message()).collect();
    fixture.store.enqueue(&sent).await;
    let claimed = fixture.store.take_all().await;
    let _ = fixture.rival.ack(&claimed[650]).await;
    let batch: Vec<_> =
        claimed.iter().map(|c| Settlement { receipt: c.receipt.clone(), disposition: done() }).collect();
    let answers = fixture.store.settle_all(&batch).await;
    assert_eq!((answers.len(), accepted(&answers), answers[650]), (700, 699, Superseded));
    assert_eq!(fixture.rival.status().await, None);
}

pub async fn an_empty_batch_has_an_empty_answer(fixture: Fixture) {
    assert_eq!(fixture.store.settle_all(&[]).await, []);
}

pub async fn settling_one_message_leaves_the_others_alone(fixture: Fixture) {
    let sent = fixture.enqueue(5).await;
    let claimed = fixture.store.take(5).await;
    for (claimed, disposition) in claimed.iter().zip(dispositions()) {
        assert_eq!(fixture.store.settle(&claimed.receipt, disposition).await, Accepted);
    }
    assert_eq!(claimed[4].message.id, sent[4]);
    assert_eq!(fixture.store.ack(&claimed[4]).await, Accepted);
}
