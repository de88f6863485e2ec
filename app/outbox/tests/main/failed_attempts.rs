//! What a pipeline logs about attempts that failed.
//! Promise: each failed attempt is logged once, with its reason and without its payload; a flood is a few
//! lines a minute

use std::time::Duration;

use claimstream::{Handler, RelayConfig, Timer, Verdict, handler_fn};
use futures::channel::oneshot;

use crate::{
    log::Log,
    play::{Answer, Bench, Play, id},
};

/// Runs a pipeline over `answers` until `time` is over, and returns its lines about failed attempts.
fn lines_of<H: Handler + 'static>(
    answers: Vec<Answer>,
    time: Duration,
    config: RelayConfig,
    handler: impl FnOnce(&Play) -> H,
) -> Vec<String> {
    let (log, play, mut bench) = (Log::of_this_thread(), Play::new(answers), Bench::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let pipeline = play.relay(config).pipeline("orders", handler(&play)).unwrap();
    let task = bench.start(pipeline.run_until(async move { stopped.await.unwrap() }));
    bench.pass(&play.timer, time);
    stop.send(()).unwrap();
    bench.finish(&play.timer, task).unwrap();
    log.lines("attempt failed")
}

#[test]
fn each_failed_attempt_is_one_line_with_its_reason_and_what_comes_next() {
    let lines =
        lines_of(vec![Answer::Messages(vec![1, 2, 20, 3])], Duration::from_secs(1), <_>::default(), |_| {
            handler_fn(|claimed| async move {
                match claimed.message.id {
                    of if of == id(1) => Verdict::Nack {
                        after: Some(Duration::from_secs(7)),
                        reason: claimstream::Reason::new("gateway\nis busy"),
                    },
                    of if of == id(2) => Verdict::bury("no such account"),
                    of if of == id(3) => Verdict::nack("gateway is away"),
                    _ => Verdict::ack(),
                }
            })
        });
    let of = |n| id(n).to_string();
    assert_eq!(
        lines,
        [
            format!(
                "WARN attempt failed: attempt=1 class=failed max_attempts=20 message_id={} next=7s queue=orders reason=gateway is busy",
                of(1)
            ),
            format!(
                "WARN attempt failed: attempt=2 class=buried max_attempts=20 message_id={} next=dead letter queue=orders reason=no such account",
                of(2)
            ),
            format!(
                "WARN attempt failed: attempt=20 class=failed max_attempts=20 message_id={} next=dead letter queue=orders reason=gateway is away",
                of(3)
            ),
        ]
    );
}

#[test]
fn a_panic_and_a_handler_that_takes_too_long_are_one_line_each() {
    let config = RelayConfig { handle_timeout: Duration::from_secs(5), ..RelayConfig::default() };
    let lines = lines_of(vec![Answer::Messages(vec![1, 1])], Duration::from_secs(10), config, |_| {
        handler_fn(|claimed| async move {
            assert!(claimed.message.id != id(1), "the account is {}", 7);
            std::future::pending().await
        })
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("ERROR ") && lines[0].contains("class=panicked"), "{lines:?}");
    assert!(lines[0].ends_with("reason=panicked: the account is 7"), "{lines:?}");
    assert!(lines[1].starts_with("WARN ") && lines[1].contains("class=timed_out"), "{lines:?}");
    assert!(lines[1].ends_with("reason=no verdict within 5s"), "{lines:?}");
}

#[test]
fn an_attempt_that_is_stopped_at_shutdown_is_one_line() {
    let lines = lines_of(vec![Answer::Messages(vec![1])], Duration::from_secs(1), <_>::default(), |_| {
        handler_fn(|_| std::future::pending())
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].ends_with("reason=stopped at shutdown"), "{lines:?}");
}

#[test]
fn a_reason_that_repeats_the_payload_is_logged_without_it() {
    let lines = lines_of(vec![Answer::Messages(vec![1])], Duration::from_secs(1), <_>::default(), |_| {
        handler_fn(|claimed| async move {
            let payload = String::from_utf8_lossy(claimed.message.payload.bytes());
            Verdict::nack(format_args!("cannot read {payload} of order 7"))
        })
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].ends_with("reason=cannot read [payload] of order 7"), "{lines:?}");
}

#[test]
fn a_flood_of_failures_is_a_few_lines_a_minute_and_the_next_line_counts_the_others() {
    let lines = lines_of(vec![Answer::Full; 40], Duration::from_secs(66), <_>::default(), |play| {
        let timer = play.timer.clone();
        handler_fn(move |_| {
            let timer = timer.clone();
            async move {
                timer.sleep(Duration::from_secs(1)).await;
                Verdict::nack("the gateway is away")
            }
        })
    });
    // 32 attempts a second fail. Ten lines each at the beginning, and 1, 3, 7, 15, 31 and 63 s later.
    assert_eq!(lines.len(), 70, "{lines:#?}");
    let unlogged: Vec<u64> =
        lines.iter().filter_map(|line| line.split_once("unlogged=")?.1.parse().ok()).collect();
    assert_eq!(unlogged.len(), 6, "{unlogged:?}");
    assert!(unlogged.iter().sum::<u64>() > 1_800, "{unlogged:?}");
}

#[test]
fn a_flood_of_refusals_hides_no_panic() {
    let lines =
        lines_of(vec![Answer::Messages(vec![1; 30])], Duration::from_millis(100), <_>::default(), |_| {
            handler_fn(|claimed| async move {
                assert!(claimed.message.id != id(30), "the account is {}", 7);
                Verdict::nack("the gateway is away")
            })
        });
    assert_eq!(lines.len(), 11, "{lines:#?}");
    assert!(lines[10].starts_with("ERROR ") && lines[10].contains("class=panicked"), "{lines:#?}");
}
