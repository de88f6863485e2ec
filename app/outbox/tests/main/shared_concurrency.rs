//! One limit for the handlers of several relays: it holds, goes round, and is not taken away by one that hangs.
//! Promise: databases take shared slots in turn, each slot once, and half of an equal share is kept for each

use std::{
    future::pending,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use claimstream::{ConcurrencyShare, Handler, RelayConfig, SharedConcurrency, handler_fn};
use futures::channel::oneshot;

use crate::{
    batch_actor::{Act, Actor},
    play::{Answer, Bench, Play, Task},
    slow_handler::{Outcome, Slow},
};

const SECOND: Duration = Duration::from_secs(1);

/// A database whose messages come as `answers` say, on the clock of `other`.
fn beside(other: &Play, answers: Vec<Answer>) -> Play {
    let mut play = Play::new(answers);
    play.timer = other.timer.clone();
    play
}

fn start(
    play: &Play,
    bench: &Bench,
    share: ConcurrencyShare,
    handler: impl Handler + 'static,
) -> (oneshot::Sender<()>, Task<Outcome>) {
    let (stop, stopped) = oneshot::channel::<()>();
    let relay = play.relay(RelayConfig::default()).with_share(share);
    let pipeline = relay.pipeline("orders", handler).unwrap();
    let task = bench.start(pipeline.run_until(async move {
        let _ = stopped.await;
    }));
    (stop, task)
}

#[test]
fn a_backlog_leaves_the_next_place_to_a_message_of_another_database() {
    let mut bench = Bench::default();
    let backlog = Play::new(vec![Answer::Full; 60]);
    let trickle = beside(&backlog, vec![Answer::Messages(vec![1]); 20]);
    let limit = SharedConcurrency::new(8).unwrap();
    let slow = Slow::new(&backlog.timer, SECOND);
    let (most, done) = (Arc::clone(&slow.most), Arc::clone(&slow.ended));
    let (_stop, _task) = start(&backlog, &bench, limit.share(), slow);
    bench.pass(&backlog.timer, 10 * SECOND);
    assert_eq!((most.load(Ordering::Relaxed), done.load(Ordering::Relaxed)), (8, 80), "alone it has all");
    let quick = Slow::new(&backlog.timer, Duration::from_millis(1));
    let served = Arc::clone(&quick.ended);
    let (_also, _trickling) = start(&trickle, &bench, limit.share(), quick);
    bench.pass(&backlog.timer, 2 * SECOND);
    assert!(served.load(Ordering::Relaxed) >= 1, "the first waits for one handler at most");
    bench.pass(&backlog.timer, 30 * SECOND);
    assert_eq!(served.load(Ordering::Relaxed), 20);
    assert!(limit.in_use() <= 8 && most.load(Ordering::Relaxed) == 8);
}

#[test]
fn handlers_that_hang_leave_places_to_other_databases() {
    let mut bench = Bench::default();
    let away = Play::new(vec![Answer::Full; 60]);
    let working = beside(&away, vec![Answer::Full; 60]);
    let limit = SharedConcurrency::new(8).unwrap();
    let (share, other) = (limit.share(), limit.share());
    let (_stop, _task) = start(&away, &bench, share, handler_fn(|_| async { pending().await }));
    bench.pass(&away.timer, SECOND);
    assert_eq!(limit.in_use(), 6, "half of its equal share is kept for the other");
    let quick = Slow::new(&away.timer, SECOND);
    let served = Arc::clone(&quick.ended);
    let (_also, _running) = start(&working, &bench, other, quick);
    bench.pass(&away.timer, 10 * SECOND + SECOND / 2);
    assert_eq!(served.load(Ordering::Relaxed), 20, "two at a time, a second each");
}

#[test]
fn what_one_database_had_is_the_others_when_its_relay_has_ended() {
    let mut bench = Bench::default();
    let ending = Play::new(vec![Answer::Full; 60]);
    let staying = beside(&ending, vec![Answer::Full; 60]);
    let limit = SharedConcurrency::new(4).unwrap();
    let (stop, task) = start(&ending, &bench, limit.share(), Slow::new(&ending.timer, SECOND));
    let slow = Slow::new(&ending.timer, SECOND);
    let most = Arc::clone(&slow.most);
    let (_stay, _staying) = start(&staying, &bench, limit.share(), slow);
    bench.pass(&ending.timer, 5 * SECOND);
    assert!(most.load(Ordering::Relaxed) < 4);
    stop.send(()).unwrap();
    bench.pass(&ending.timer, 5 * SECOND);
    assert!(task.is_done());
    assert_eq!((limit.in_use(), most.load(Ordering::Relaxed)), (4, 4));
}

#[test]
fn messages_of_batches_take_a_place_each_until_they_have_a_verdict() {
    let mut bench = Bench::default();
    let (one, limit) = (Play::new(vec![Answer::Messages(vec![1; 40])]), SharedConcurrency::new(8).unwrap());
    let two = beside(&one, vec![Answer::Messages(vec![1; 40])]);
    let mut tasks = Vec::new();
    for play in [&one, &two] {
        let actor = Actor::new(&one.timer, |n, _| match n % 10 {
            0 => Act::Skip,
            _ => Act::AckAfter(SECOND),
        });
        let relay = play.relay(RelayConfig::default()).with_share(limit.share());
        let pipeline = relay.batch_pipeline("orders", actor.beside()).unwrap().at_once(32);
        let (stop, stopped) = oneshot::channel::<()>();
        let task = bench.start(pipeline.run_until(async move {
            let _ = stopped.await;
        }));
        tasks.push((stop, task));
    }
    for _ in 0..40 {
        bench.pass(&one.timer, SECOND / 4);
        assert!(limit.in_use() <= 8, "{limit:?}");
    }
    bench.pass(&one.timer, 10 * SECOND);
    for (stop, task) in tasks {
        stop.send(()).unwrap();
        let report = bench.finish(&one.timer, task).unwrap();
        // What got no verdict alone either has failed.
        assert_eq!((report.claimed, report.acked, report.nacked), (40, 36, 4));
    }
    assert_eq!(limit.in_use(), 0);
}
