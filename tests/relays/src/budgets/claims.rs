use std::time::Duration;

use claimstream::{Relay, RelayConfig};
use claimstream_domain::Claimed;
use claimstream_sea_orm::Strategy;
use claimstream_tokio::TokioTimer;
use futures::TryStreamExt;
use tokio::time::timeout;

use super::{
    BudgetTest,
    measured::{Measured, hold},
    tests,
};
use crate::fixture::Cost;

pub(super) fn tests() -> Vec<(&'static str, BudgetTest)> {
    tests![full_batches_of_one_shard, a_message_in_each_shard, a_claim_that_finds_nothing, an_idle_second,]
}

const BATCH: u32 = 100;
const BATCHES: usize = 4;

/// Four batches that are there at once, claimed and settled one after another.
async fn full_batches_of_one_shard(measured: &Measured) {
    let measured = &measured.without_time().await;
    let (mut claims, mut settlements) = (Vec::new(), Vec::new());
    for _ in 0..Measured::ROUNDS {
        measured
            .outbox
            .enqueue_now(&measured.messages_in(0, BATCHES * BATCH as usize))
            .await
            .expect("enqueue");
        let (mut claiming, mut settling) = (Vec::new(), Vec::new());
        for _ in 0..BATCHES {
            let (batch, sent) = measured.count(full(measured)).await;
            claiming.extend(sent);
            settling.extend(measured.count(measured.acknowledge(&batch)).await.1);
        }
        claims.push(claiming);
        settlements.push(settling);
    }
    let (claiming, settling) = match measured.strategy() {
        Strategy::ShardLease => ((3, 3), (13, 13)),
        Strategy::SkipLocked => ((24, 24), (4, 4)),
        _ => ((8, 8), (4, 4)),
    };
    hold("claims of four full batches", claiming, claims);
    hold("settlements of four full batches", settling, settlements);
}

async fn full(measured: &Measured) -> Vec<Claimed> {
    let mut batch = Vec::new();
    while batch.len() < BATCH as usize {
        batch.extend(measured.instance.claim(BATCH - batch.len() as u32).await);
    }
    batch
}

/// Thin load: a message in each of eight shards, claimed by calls that ask for more, and settled in one call.
async fn a_message_in_each_shard(measured: &Measured) {
    let (mut claims, mut settlements) = (Vec::new(), Vec::new());
    for _ in 0..Measured::ROUNDS {
        let messages: Vec<_> = (0..Measured::SHARDS).flat_map(|n| measured.messages_in(n, 1)).collect();
        measured.outbox.enqueue_now(&messages).await.expect("enqueue");
        let (claimed, claiming) = measured.count(all(measured, messages.len())).await;
        let ((), settling) = measured.count(measured.acknowledge(&claimed)).await;
        claims.push(claiming);
        settlements.push(settling);
    }
    let (claiming, settling) = match measured.strategy() {
        Strategy::ShardLease => ((4, 4), (11, 11)),
        Strategy::SkipLocked => ((29, 29), (10, 10)),
        _ => ((11, 11), (10, 10)),
    };
    hold("claims of a message in each of eight shards", claiming, claims);
    hold("a settlement of eight shards", settling, settlements);
}

async fn all(measured: &Measured, count: usize) -> Vec<Claimed> {
    let mut claimed = Vec::new();
    while claimed.len() < count {
        claimed.extend(measured.instance.claim(BATCH).await);
    }
    claimed
}

async fn a_claim_that_finds_nothing(measured: &Measured) {
    let mut counts = Vec::new();
    for _ in 0..Measured::ROUNDS {
        let (found, sent) = measured.count(measured.instance.claim(BATCH)).await;
        assert!(found.is_empty());
        counts.push(sent);
    }
    hold("a claim that finds nothing", (1, 1), counts);
}

/// A relay that waits for messages, with the settings that it has by default.
async fn an_idle_second(measured: &Measured) {
    const SECONDS: usize = 4;
    let relay = Relay::new(measured.outbox.clone().into(), TokioTimer::new(), RelayConfig::default());
    let mut claims = relay.claims(measured.instance.queue().as_str()).expect("a stream");
    assert!(timeout(Duration::from_secs(3), claims.try_next()).await.is_err(), "something came");
    let second = timeout(Duration::from_secs(SECONDS as u64), claims.try_next());
    let (waited, sent) = measured.count(second).await;
    assert!(waited.is_err(), "something came");
    let cost = Cost::of(&sent);
    println!("budget: an idle second: {:.1} statements", cost.statements as f64 / SECONDS as f64);
    assert!(cost.statements <= 2 * SECONDS, "{cost} in {SECONDS} seconds: {sent:#?}");
    claims.close().await.expect("closed");
}
