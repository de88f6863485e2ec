//! What a relay tells its telemetry.
//! Promise: a relay measures each verb once, with its outcome and time

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{Reason, RelayConfig, RetryPolicy, StoreErrorKind, Telemetry, Timer, Verdict, handler_fn};
use claimstream_ports::Measured;

use crate::play::{Answer, Bench, Play, SettleAnswer, WAITED, id};

/// Keeps everything as a line without times, and the times of handlers.
#[derive(Default, Debug)]
struct Heard {
    counts: Mutex<BTreeMap<String, usize>>,
    handled: Mutex<Vec<(&'static str, Duration)>>,
    waits: Mutex<Vec<Duration>>,
}

impl Telemetry for Heard {
    fn record(&self, measured: Measured<'_>) {
        let (line, count) = match measured {
            Measured::Claimed { queue, messages, .. } => (format!("claimed {queue}"), messages),
            Measured::Waited { queue, waits } => {
                self.waits.lock().unwrap().extend(waits);
                (format!("waited {queue}"), waits.len())
            }
            Measured::Handled { queue, outcome, took } => {
                self.handled.lock().unwrap().push((outcome.as_str(), took));
                (format!("handled {queue} {}", outcome.as_str()), 1)
            }
            Measured::Settled { queue, outcome, messages } => {
                (format!("settled {queue} {}", outcome.as_str()), messages)
            }
            Measured::Renewed { queue, messages, .. } => (format!("renewed {queue}"), messages.min(1)),
            Measured::LeasesLost { queue, messages } => (format!("lost {queue}"), messages),
            Measured::Failed { queue, call, kind, .. } => {
                (format!("failed {queue} {} {kind:?}", call.as_str()), 1)
            }
            Measured::Settling { .. } => return,
            other => (format!("{other:?}"), 1),
        };
        *self.counts.lock().unwrap().entry(line).or_default() += count;
    }
}

impl Heard {
    fn count(&self, line: &str) -> usize {
        self.counts.lock().unwrap().get(line).copied().unwrap_or_default()
    }
}

/// Runs a pipeline on what the script hands out, for `time`.
fn run(play: &Play, time: Duration) -> Arc<Heard> {
    let (mut bench, heard) = (Bench::default(), Arc::<Heard>::default());
    let config = RelayConfig {
        retry: RetryPolicy { max_attempts: 2, ..RetryPolicy::default() },
        handle_timeout: Duration::from_secs(5),
        ..RelayConfig::default()
    };
    let relay = play.relay(config).with_telemetry(Arc::clone(&heard) as _);
    let timer = play.timer.clone();
    let handler = handler_fn(move |claimed| {
        let timer = timer.clone();
        async move {
            match claimed.message.id.uuid().as_u128() {
                1 => Verdict::bury("never"),
                2 => Verdict::nack("not now"),
                3 => panic!("oh"),
                4 => futures::future::pending().await,
                5 => {
                    timer.sleep(Duration::from_secs(2)).await;
                    Verdict::ack()
                }
                6 => Verdict::Postpone { after: Duration::from_secs(60), reason: Reason::new("later") },
                7 => Verdict::Release,
                _ => Verdict::ack(),
            }
        }
    });
    let timer = play.timer.clone();
    let stop = async move { timer.sleep(time).await };
    let task = bench.start(relay.pipeline("orders", handler).unwrap().run_until(stop));
    bench.finish(&play.timer, task).unwrap();
    heard
}

#[test]
fn each_verb_is_measured_once_with_its_outcome() {
    let play = Play::new([Answer::Messages(vec![1, 1, 2, 1, 1, 1, 1, 1])]);
    let heard = run(&play, Duration::from_secs(8));
    assert_eq!((heard.count("claimed orders"), heard.count("waited orders")), (8, 8));
    // The script's messages say how long they waited.
    assert_eq!(*heard.waits.lock().unwrap(), [WAITED; 8]);
    for (outcome, count) in
        [("bury", 1), ("nack", 1), ("panic", 1), ("timeout", 1), ("postpone", 1), ("release", 1), ("ack", 2)]
    {
        assert_eq!(heard.count(&format!("handled orders {outcome}")), count, "{outcome}");
    }
    // The panic was the last attempt.
    for (outcome, count) in [("done", 2), ("dead", 2), ("retried", 2), ("postponed", 1), ("returned", 1)] {
        assert_eq!(heard.count(&format!("settled orders {outcome}")), count, "{outcome}");
    }
    let handled = heard.handled.lock().unwrap();
    let slow = handled.iter().filter(|(_, took)| *took >= Duration::from_secs(2));
    let slow: Vec<_> = slow.map(|(outcome, took)| (*outcome, took.as_secs())).collect();
    assert_eq!(slow, [("ack", 2), ("timeout", 5)]);
}

#[test]
fn calls_that_fail_are_measured_by_the_kind_of_their_error() {
    let fails = Answer::Fails(StoreErrorKind::Unavailable);
    let play = Play::new([fails.clone(), fails, Answer::Messages(vec![1; 9])]);
    let refused = SettleAnswer::Fails(StoreErrorKind::Transient);
    play.stage().settle_answers.extend([refused; 2]);
    play.stage().superseded.push(id(9));
    play.stage().renew_fails = true;
    let heard = run(&play, Duration::from_secs(20));
    assert_eq!(heard.count("failed orders claim Unavailable"), 2);
    assert_eq!(heard.count("failed orders settle Transient"), 2);
    assert_eq!(heard.count("settled orders superseded"), 1, "{:?}", heard.counts);
    assert_eq!(heard.count("settled orders done"), 2);
}
