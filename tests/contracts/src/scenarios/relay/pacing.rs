//! A1.5: how often a stream claims.
//! Promise: an idle stream claims about every five seconds, and a wakeup shortens the wait

use std::{sync::Arc, time::Duration};

use claimstream::{LocalWakeup, RelayConfig};
use claimstream_domain::{Pacing, Settled::Accepted};
use claimstream_ports::Wakeup;

use super::{
    process::{Process, config},
    watched::Watched,
};
use crate::{
    Fixture,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<Fixture>] = cases!["scenarios" needs [Claims, Settlements]:
    a1_5_a_store_error_is_waited_out_and_later_messages_arrive,
    a1_5_a_full_batch_claims_again_at_once,
    a1_5_an_idle_stream_claims_about_every_five_seconds,
    a1_5_a_wakeup_cuts_the_wait,
    a1_5_a_wakeup_after_one_without_a_message_is_followed_at_once,
];

pub async fn a1_5_a_store_error_is_waited_out_and_later_messages_arrive(fixture: Fixture) {
    let faulty = Watched::new(&fixture.store, Some(2));
    let mut process = Process::on(faulty.clone(), &fixture.store, config(10));
    let mut found = Vec::new();
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.extend(fixture.enqueue(1).await);
        let claim = process.next().await.expect("a claim");
        found.push(claim.message().id);
        assert_eq!(process.ack(claim).await, Accepted);
    }
    assert_eq!(found, sent);
    assert!(faulty.claims() >= 6, "the failed call was not repeated");
}

pub async fn a1_5_a_full_batch_claims_again_at_once(fixture: Fixture) {
    fixture.enqueue(30).await;
    let mut process = Process::new(&fixture.store, RelayConfig { batch: 5, ..config(30) });
    for _ in 0..30 {
        process.next_within(Duration::ZERO).await.expect("a claim, without a wait");
    }
}

pub async fn a1_5_an_idle_stream_claims_about_every_five_seconds(fixture: Fixture) {
    let counting = Watched::new(&fixture.store, None);
    let mut process = Process::on(counting.clone(), &fixture.store, config(10));
    assert!(process.next_within(Duration::from_secs(60)).await.is_none());
    let before = counting.claims();
    assert!(process.next_within(Duration::from_secs(100)).await.is_none());
    let polls = counting.claims() - before;
    assert!((18..=42).contains(&polls), "{polls} claims in 100 s of idleness");
}

pub async fn a1_5_a_wakeup_cuts_the_wait(fixture: Fixture) {
    let wakeup = Arc::new(LocalWakeup::new());
    let mut process = Process::new(&fixture.store, config(10)).with_wakeup(wakeup.clone());
    assert!(process.next_within(Duration::from_secs(60)).await.is_none());
    fixture.enqueue(1).await;
    wakeup.wake(fixture.queue()).await.expect("wake");
    let shortest = Pacing::default().idle_min;
    process.next_within(2 * shortest).await.expect("a claim soon after the wakeup");
}

pub async fn a1_5_a_wakeup_after_one_without_a_message_is_followed_at_once(fixture: Fixture) {
    let wakeup = Arc::new(LocalWakeup::new());
    let mut process = Process::new(&fixture.store, config(10)).with_wakeup(wakeup.clone());
    assert!(process.next_within(Duration::from_secs(60)).await.is_none());
    let at_once = Pacing::default().idle_min / 4;
    for _ in 0..3 {
        wakeup.wake(fixture.queue()).await.expect("wake");
        assert!(process.next_within(Duration::ZERO).await.is_none(), "nothing was sent");
        fixture.enqueue(1).await;
        wakeup.wake(fixture.queue()).await.expect("wake");
        let claim = process.next_within(at_once).await.expect("a claim at once");
        assert_eq!(process.ack(claim).await, Accepted);
    }
}
