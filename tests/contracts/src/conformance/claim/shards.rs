//! Every shard has its turn.

use std::{collections::HashSet, time::Duration};

use claimstream_domain::NewMessage;

use super::claimers::distinct;
use crate::{
    Fixture, ids,
    suite::{Case, cases},
};

pub const CLAUSES: &[Case<Fixture>] = cases!["claim" needs [Claims]:
    messages_of_one_ordering_key_lie_in_one_shard,
    one_instance_reaches_every_shard,
    a_shard_that_is_always_full_starves_no_other,
];

pub async fn messages_of_one_ordering_key_lie_in_one_shard(fixture: Fixture) {
    let sent = fixture.enqueue(9).await;
    let shards: HashSet<_> = fixture.store.take_all().await.iter().map(|c| c.message.shard).collect();
    assert_eq!((sent.len(), shards.len()), (9, 1));
}

pub async fn one_instance_reaches_every_shard(fixture: Fixture) {
    let sent: Vec<_> = (0..100).map(|_| fixture.loose_message()).collect();
    fixture.rival.enqueue(&sent).await;
    let claimed = fixture.store.take_all().await;
    assert_eq!(distinct(&claimed), 100);
    let shards: HashSet<_> = claimed.iter().map(|c| c.receipt.shard).collect();
    assert_eq!(shards.len(), usize::from(fixture.facts.shards.get()));
    for claimed in claimed {
        assert_eq!(claimed.message.shard, fixture.facts.shards.shard_of(claimed.message.id, None));
    }
}

pub async fn a_shard_that_is_always_full_starves_no_other(fixture: Fixture) {
    fixture.enqueue(6).await;
    let full = fixture.store.claim(2).await[0].receipt.shard;
    let shard_of = |message: &NewMessage| fixture.facts.shards.shard_of(message.id, None);
    let other = std::iter::repeat_with(|| fixture.loose_message()).find(|m| shard_of(m) != full);
    let other = other.expect("a message of another shard");
    fixture.rival.enqueue(std::slice::from_ref(&other)).await;
    for _ in 0..6 {
        fixture.advance(Duration::from_secs(1)).await;
        fixture.enqueue(2).await;
        if ids(&fixture.store.claim(2).await).contains(&other.id) {
            return;
        }
    }
    panic!("it was not claimed within 6 s");
}
