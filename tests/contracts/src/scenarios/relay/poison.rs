//! A0.8: messages that end their process, and handlers that hang.
//! Promise: a message that ends its process each time takes no other with it

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use claimstream::{Relay, RelayConfig, handler_fn};
use claimstream_domain::{RetryPolicy, Settled::Accepted};
use claimstream_tokio::TokioTimer;
use futures::channel::oneshot;

use super::{
    process::{Process, config},
    watched::Watched,
};
use crate::{
    Fixture, LEASE,
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<Fixture>] = cases!["scenarios" needs [Claims, Settlements]:
    a0_8_a_message_that_ends_its_process_each_time_is_dead_in_the_end,
    a0_8_a_message_that_ends_its_process_each_time_takes_no_other_along,
    a0_8_a_message_that_is_dropped_each_time_holds_nothing_up_and_is_dead_in_the_end,
    a0_8_a_handler_that_hangs_has_failed_its_attempt,
];

pub async fn a0_8_a_message_that_ends_its_process_each_time_is_dead_in_the_end(fixture: Fixture) {
    let id = fixture.enqueue(1).await[0];
    let retry = RetryPolicy { max_attempts: 4, ..RetryPolicy::default() };
    for attempt in 1..=4 {
        let mut process = Process::new(&fixture.store, RelayConfig { retry: retry.clone(), ..config(10) });
        assert_eq!(process.next().await.expect("a claim").attempt(), attempt);
        drop(process);
        fixture.advance(LEASE).await;
    }
    let mut process = Process::new(&fixture.rival, RelayConfig { retry, ..config(10) });
    assert!(process.next().await.is_none(), "it was handed out a fifth time");
    let dead = fixture.store.dead().await;
    assert_eq!(dead.iter().map(|d| d.message.id).collect::<Vec<_>>(), [id]);
}

/// Guard: suspects are handed out alone | app/outbox/src/stream/isolation.rs `admit`: nothing is a suspect
pub async fn a0_8_a_message_that_ends_its_process_each_time_takes_no_other_along(fixture: Fixture) {
    let sent = fixture.enqueue(6).await;
    let poison = sent[3];
    let retry = RetryPolicy { max_attempts: 8, ..RetryPolicy::default() };
    let (mut crashes, mut handled) = (0, Vec::new());
    // Each process takes all it can get before it has handled anything.
    'processes: for n in 0..60 {
        let instance = [&fixture.store, &fixture.rival][n % 2];
        let mut process = Process::new(instance, RelayConfig { retry: retry.clone(), ..config(10) });
        loop {
            let mut in_hand = Vec::new();
            while let Some(claim) = process.next_within(Duration::from_secs(6)).await {
                in_hand.push(claim);
            }
            if in_hand.iter().any(|claim| claim.message().id == poison) {
                crashes += 1;
                drop((in_hand, process));
                fixture.advance(LEASE).await;
                continue 'processes;
            }
            if in_hand.is_empty() {
                break;
            }
            for claim in in_hand {
                handled.push(claim.message().id);
                assert_eq!(process.ack(claim).await, Accepted);
            }
        }
        if !fixture.store.dead().await.is_empty() {
            break;
        }
        fixture.advance(LEASE).await;
    }
    let dead: Vec<_> = fixture.store.dead().await.into_iter().map(|dead| dead.message.id).collect();
    handled.sort();
    let innocent: Vec<_> = sent.iter().copied().filter(|id| *id != poison).collect();
    assert_eq!((dead, handled, crashes), (vec![poison], innocent, 8));
}

pub async fn a0_8_a_message_that_is_dropped_each_time_holds_nothing_up_and_is_dead_in_the_end(
    fixture: Fixture,
) {
    let dropped = fixture.enqueue(1).await[0];
    let retry = RetryPolicy { max_attempts: 4, ..RetryPolicy::default() };
    let mut process = Process::new(&fixture.store, RelayConfig { retry, ..config(10) });
    for attempt in 1..=4 {
        let mut passing = fixture.enqueue(3).await;
        while let Some(claim) = process.next().await {
            if claim.message().id == dropped {
                assert_eq!(claim.attempt(), attempt);
                continue;
            }
            passing.retain(|id| *id != claim.message().id);
            assert_eq!(process.ack(claim).await, Accepted);
        }
        assert_eq!(passing, [], "they wait behind what was dropped");
        fixture.advance(LEASE).await;
    }
    assert!(process.next().await.is_none(), "it was handed out a fifth time");
    let dead = fixture.store.dead().await;
    assert_eq!(dead.iter().map(|d| d.message.id).collect::<Vec<_>>(), [dropped]);
}

pub async fn a0_8_a_handler_that_hangs_has_failed_its_attempt(fixture: Fixture) {
    let sent = fixture.enqueue(1).await;
    let config = RelayConfig { handle_timeout: Duration::from_millis(50), ..RelayConfig::default() };
    let store = Watched::new(&fixture.store, None);
    let relay = Relay::from_ports(store.clone(), store, Arc::new(TokioTimer::new()), config);
    let (stop, stopped) = oneshot::channel::<()>();
    let hangs = Arc::new(Mutex::new(Some(stop)));
    let handler = handler_fn(move |_| {
        // Dropped with the handler's future, which ends the pipeline.
        let stop = hangs.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            let _stop = stop;
            futures::future::pending().await
        }
    });
    let pipeline = relay.pipeline(fixture.queue().clone(), handler).expect("a pipeline");
    let report = pipeline.run_until(async move {
        let _ = stopped.await;
    });
    let report = report.await.expect("a report");
    assert_eq!((report.claimed, report.nacked, report.timed_out), (1, 1, 1), "{report:?}");
    fixture.advance(RetryPolicy::default().base).await;
    let again = fixture.rival.take_one().await;
    assert_eq!((again.message.id, again.attempt), (sent[0], 2));
    assert_eq!(again.last_error.map(|reason| reason.to_string()).as_deref(), Some("no verdict within 50ms"));
}
