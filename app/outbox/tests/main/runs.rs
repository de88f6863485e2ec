//! Messages of one key: what is kept back, what follows, and what goes back.
//! Promise: a key whose handler never ends leaves slots for others

use std::time::Duration;

use claimstream::RelayConfig;
use futures::{FutureExt, StreamExt};

use crate::play::{Answer, Bench, Play, accepted, id, returned};

/// So many messages of one key, each behind the one that was made before it, except the first of all.
fn run(count: usize) -> Answer {
    Answer::Run(count)
}

#[test]
fn the_next_message_of_a_key_follows_when_the_one_before_has_been_settled() {
    let play = Play::new([run(3)]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        for n in 1..=3 {
            let claim = claims.next().await.unwrap().unwrap();
            assert_eq!(claim.message().id, id(n));
            assert!(claims.next().now_or_never().is_none(), "two of a key are out");
            match n {
                2 => accepted(claim.bury("no").await),
                _ => accepted(claim.ack().await),
            }
        }
    });
    bench.settle();
    assert!(task.is_done());
    assert_eq!(play.batches(), [1, 1, 1], "nothing else could join");
}

#[test]
fn what_is_behind_a_message_that_fails_goes_back_and_so_does_what_is_claimed_behind_it() {
    for drops in [false, true] {
        let play = Play::new([run(3), run(2)]);
        let config = RelayConfig { batch: 3, prefetch: 5, ..RelayConfig::default() };
        let mut bench = Bench::default();
        let mut claims = play.relay(config).claims("orders").unwrap();
        let task = bench.start(async move {
            let first = claims.next().await.unwrap().unwrap();
            if drops {
                drop(first)
            } else {
                accepted(first.nack("busy").await)
            }
            claims.next().await
        });
        bench.settle();
        bench.pass(&play.timer, Duration::from_millis(50));
        assert!(!task.is_done());
        let mut back = returned(&play.settled());
        back.sort();
        assert_eq!(back, [id(2), id(3), id(4), id(5)]);
    }
}

#[test]
fn what_is_kept_back_goes_back_before_its_lease_ends() {
    let play = Play::new([run(3)]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move { (claims.next().await.unwrap().unwrap(), claims) });
    bench.settle();
    play.timer.take_spawned().into_iter().for_each(|work| drop(bench.start(work)));
    bench.pass(&play.timer, Duration::from_secs(21));
    assert_eq!(returned(&play.settled()), [id(2), id(3)]);
    drop(task);
}

#[test]
fn a_stream_that_is_closed_gives_back_what_is_kept_back() {
    let play = Play::new([run(4)]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        let first = claims.next().await.unwrap().unwrap();
        let given_back = claims.close().await.unwrap();
        accepted(first.ack().await);
        given_back
    });
    assert_eq!(bench.finish(&play.timer, task), 3);
}

#[test]
fn a_key_whose_handler_never_ends_leaves_room_for_others() {
    let tight = RelayConfig { batch: 100, prefetch: 100, ..RelayConfig::default() };
    for (config, first) in [(RelayConfig::default(), 300), (tight, 60)] {
        let play = Play::new([Answer::RunOr(first, 10), Answer::RunOr(200, 10), Answer::RunOr(200, 10)]);
        let mut bench = Bench::default();
        let mut claims = play.relay(config).claims("orders").unwrap();
        let task = bench.start(async move {
            let slow = claims.next().await.unwrap().unwrap();
            for _ in 0..10 {
                let other = claims.next().await.unwrap().unwrap();
                assert!(other.message().ordering_key.is_none());
                accepted(other.ack().await);
            }
            (slow, claims)
        });
        bench.pass(&play.timer, Duration::from_secs(1));
        assert!(task.is_done(), "{first} of one key hold up all others");
    }
}

#[test]
fn a_quick_key_takes_runs_again_without_a_claim_for_others() {
    let play = Play::new([Answer::RunOr(100, 0), Answer::RunOr(50, 0)]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        for _ in 0..150 {
            accepted(claims.next().await.unwrap().unwrap().ack().await);
        }
    });
    bench.settle();
    assert!(task.is_done(), "it waits though there is room for more of the key");
}

#[test]
fn the_end_of_a_message_of_an_older_run_leaves_the_newer_one_alone() {
    let play = Play::new([run(2), Answer::NewRun(vec![1, 1])]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move {
        let old = claims.next().await.unwrap().unwrap();
        let new = claims.next().await.unwrap().unwrap();
        assert_eq!(new.message().id, id(3));
        drop(old);
        accepted(new.ack().await);
        claims.next().await.unwrap().unwrap()
    });
    bench.pass(&play.timer, Duration::from_secs(1));
    let next = task.take().expect("the newer run goes on");
    assert_eq!(next.message().id, id(4));
}

#[test]
fn what_is_behind_a_message_without_attempts_left_follows_its_burial() {
    let play = Play::new([Answer::NewRun(vec![99, 1])]);
    let mut bench = Bench::default();
    let mut claims = play.relay(RelayConfig::default()).claims("orders").unwrap();
    let task = bench.start(async move { (claims.next().await.unwrap().unwrap(), claims) });
    bench.pass(&play.timer, Duration::from_secs(1));
    let (next, _claims) = task.take().expect("it follows");
    assert_eq!(next.message().id, id(2));
    assert_eq!(returned(&play.settled()), []);
}

#[test]
fn what_was_freed_by_a_settlement_that_fails_goes_back_with_what_is_behind_it() {
    let play = Play::new([run(3)]);
    play.stage().refused = Some(id(1));
    let config = RelayConfig { batch: 3, prefetch: 8, ..RelayConfig::default() };
    let mut bench = Bench::default();
    let mut claims = play.relay(config).claims("orders").unwrap();
    let task = bench.start(async move {
        let first = claims.next().await.unwrap().unwrap();
        assert!(first.ack().await.is_err());
        claims.next().await
    });
    bench.settle();
    bench.pass(&play.timer, Duration::from_millis(100));
    assert!(!task.is_done(), "nothing may follow a message that may come again");
    assert_eq!(returned(&play.settled()), [id(2), id(3)]);
}

#[test]
fn what_goes_back_is_written_with_the_next_settlement_though_the_stream_is_not_polled_again() {
    let play = Play::new([run(3), Answer::Messages(vec![1, 1])]);
    let config = RelayConfig { batch: 3, prefetch: 8, ..RelayConfig::default() };
    let mut bench = Bench::default();
    let mut claims = play.relay(config).claims("orders").unwrap();
    let task = bench.start(async move {
        let first = claims.next().await.unwrap().unwrap();
        accepted(first.nack("busy").await);
        let other = claims.next().await.unwrap().unwrap();
        assert_eq!(other.message().id, id(4));
        accepted(other.ack().await);
        claims
    });
    bench.settle();
    bench.pass(&play.timer, Duration::from_millis(100));
    assert!(task.is_done());
    assert_eq!(returned(&play.settled()), [id(2), id(3)]);
}
