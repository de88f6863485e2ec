//! Any handlers: bounds hold, and every message is accounted for.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use claimstream::{
    Claimed, Handler, Lease, PipelineReport, RelayConfig, RetryPolicy, StoreErrorKind, Timer, Verdict,
};
use proptest::prelude::*;

use crate::play::{Answer, Bench, Play, id};
use crate::slow_handler::{Slow, start};

/// Ends each message after a time and with a verdict drawn by its number.
struct Drawn {
    slow: Slow,
    verdicts: Vec<u8>,
}

#[async_trait]
impl Handler for Drawn {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let n = claimed.message.id.uuid().as_u128() as usize;
        self.slow.timer.sleep(Duration::from_millis((n * 13 % 50) as u64)).await;
        self.slow.handle(claimed).await;
        match self.verdicts[n % self.verdicts.len()] {
            0 => Verdict::nack("no"),
            1 => Verdict::bury("never"),
            2 => Verdict::Release,
            3 => panic!("oh"),
            _ => Verdict::ack(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn bounds_hold_and_every_message_is_accounted_for(
        concurrency in 1..12_u32,
        more in 0..30_u32,
        batch in 1..20_u32,
        settle_batch in 1..20_u32,
        answers in prop::collection::vec(
            prop_oneof![
                4 => Just(Answer::Full),
                4 => prop::collection::vec(1..6_u32, 0..15).prop_map(Answer::Messages),
                1 => Just(Answer::Fails(StoreErrorKind::Transient)),
                1 => Just(Answer::Fails(StoreErrorKind::Corrupt)),
            ],
            0..15,
        ),
        settle_fails in prop::collection::vec(any::<bool>(), 0..10),
        superseded in prop::collection::btree_set(1..100_u128, 0..20),
        verdicts in prop::collection::vec(0..12_u8, 1..20),
        for_each in 0..400_u64,
        stop_after in 0..3000_u64,
        drain in 0..500_u64,
    ) {
        let (play, mut bench) = (Play::new(answers), Bench::default());
        for fails in settle_fails {
            use crate::play::SettleAnswer::*;
            play.stage().settle_answers.push_back(if fails { Fails(StoreErrorKind::Transient) } else { Taken });
        }
        play.stage().superseded = superseded.into_iter().map(id).collect();
        let config = RelayConfig {
            concurrency, prefetch: concurrency + more, batch, settle_batch,
            // Short enough that many handlers need renewals.
            lease: Lease::new(Duration::from_millis(300)).unwrap(),
            retry: RetryPolicy { max_attempts: 4, ..RetryPolicy::default() },
            drain: Duration::from_millis(drain),
            ..RelayConfig::default()
        };
        let slow = Slow::new(&play.timer, Duration::from_millis(for_each));
        let most = Arc::clone(&slow.most);
        let (stop, task) = start(&play, &bench, config, Drawn { slow, verdicts });
        bench.pass(&play.timer, Duration::from_millis(stop_after));
        stop.send(()).unwrap();
        let report = bench.finish(&play.timer, task).unwrap();

        prop_assert!(most.load(Ordering::Relaxed) <= concurrency as usize);
        let made = play.stage().receipts.len() as u64;
        let PipelineReport { claimed, acked, nacked, buried, released, superseded, unsettled, .. } = report;
        prop_assert_eq!(claimed, made);
        prop_assert_eq!(claimed, acked + nacked + buried + released + superseded + unsettled, "{:?}", report);
        prop_assert_eq!(play.timer.sleepers(), 0, "nothing is left behind");
    }
}
