//! What a stream does while its queue is paused.
//! Promise: a relay notices a resumption within `idle_max`

use std::{sync::Arc, time::Duration};

use claimstream::LocalWakeup;
use claimstream_domain::{Pacing, PauseNote, Settled::Accepted};
use claimstream_ports::Wakeup;

use super::process::{Process, config};
use crate::{
    Fixture,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<Fixture>] = cases!["scenarios" needs [Claims, Settlements]:
    a_stream_stops_at_a_pause_whatever_wakes_it_and_begins_again_within_its_longest_wait,
];

pub async fn a_stream_stops_at_a_pause_whatever_wakes_it_and_begins_again_within_its_longest_wait(
    fixture: Fixture,
) {
    let wakeup = Arc::new(LocalWakeup::new());
    let mut process = Process::new(&fixture.store, config(10)).with_wakeup(wakeup.clone());
    fixture.enqueue(1).await;
    let held = process.next().await.expect("a claim");
    let note = PauseNote::new("ann", None).expect("a note");
    assert!(fixture.rival.ports.pauses.pause(fixture.queue(), &note).await.expect("paused"));
    fixture.advance(Duration::from_secs(2)).await;
    assert_eq!(process.ack(held).await, Accepted);
    let sent = fixture.enqueue(3).await;
    for _ in 0..3 {
        wakeup.wake(fixture.queue()).await.expect("wake");
        let come = process.next_within(Duration::from_secs(20)).await;
        assert!(come.is_none(), "a message came from a paused queue");
    }
    assert!(fixture.rival.ports.pauses.resume(fixture.queue(), "ann").await.expect("resumed"));
    let longest = Pacing::default().idle_max;
    let first = process.next_within(longest).await.expect("a claim within the longest wait");
    assert!(sent.contains(&first.message().id));
    assert_eq!(process.ack(first).await, Accepted);
}
