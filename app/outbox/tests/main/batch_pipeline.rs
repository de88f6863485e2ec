//! Handlers of batches: when a verdict counts, and what becomes of messages without one.
//! Promise: every message of a batch ends in exactly one settlement, whatever its handler does; one bad
//! message costs the others no attempt

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use claimstream::{
    BatchPipeline, Lease, MessageId, PipelineReport, RelayConfig, RetryPolicy, StoreErrorKind, Timer, Verdict,
};
use claimstream_domain::Disposition;
use futures::future::pending;
use proptest::prelude::*;

use crate::{
    batch_actor::{Act, Actor, acks, calls, run, run_batches, spawn, start_batches},
    play::{Answer, Bench, Play, id, of, returned},
};

const ACK: Act = Act::AckAfter(Duration::ZERO);

fn as_it_is(pipeline: BatchPipeline) -> BatchPipeline {
    pipeline
}

fn reasons(play: &Play) -> BTreeMap<MessageId, String> {
    let reason = |disposition| match disposition {
        Disposition::Retry { reason, .. } | Disposition::Dead { reason, .. } => Some(reason.to_string()),
        _ => None,
    };
    let settled = play.settled().into_iter();
    settled.filter_map(|one| Some((one.receipt.message, reason(one.disposition)?))).collect()
}

const BRIEFLY: Duration = Duration::from_millis(50);

/// Guard: attempts that end in one turn are settled together | src/pipelines/run.rs `poll_settlements`: one at a time
#[test]
fn the_verdicts_of_a_batch_are_one_settlement() {
    let play = Play::new([Answer::Messages(vec![1; 70])]);
    let (report, seen) = run(&play, RelayConfig::default(), |_, _| acks(), as_it_is, BRIEFLY);
    assert_eq!(report, PipelineReport { claimed: 70, acked: 70, ..PipelineReport::default() });
    assert_eq!(calls(&seen), [(1..=70).collect::<Vec<_>>()]);
    assert_eq!(play.batches(), [70]);
}

/// Guard: a message without a verdict is handed out alone | src/pipelines/engine/end.rs `call_ended`: every call
/// counts as alone
#[test]
fn a_message_that_panics_in_a_batch_costs_the_others_no_attempt() {
    let play = Play::new([Answer::Messages(vec![1; 5])]);
    let act = |n, _| if n == 3 { Act::Panic } else { acks() };
    let (report, seen) = run(&play, RelayConfig::default(), act, as_it_is, BRIEFLY);
    let expected =
        PipelineReport { claimed: 5, acked: 4, nacked: 1, panicked: 2, ..PipelineReport::default() };
    assert_eq!(report, expected);
    assert_eq!(calls(&seen), [vec![1, 2, 3, 4, 5], vec![3], vec![4], vec![5]]);
    assert_eq!(reasons(&play), BTreeMap::from([(id(3), "panicked: at 3".to_owned())]));
}

#[test]
fn a_message_without_a_verdict_fails_when_it_gets_none_alone_either() {
    let play = Play::new([Answer::Messages(vec![1; 4]), Answer::Messages(vec![20])]);
    let act = |n, alone: bool| match n {
        1 | 4 => acks(),
        2 if alone => acks(),
        _ => Act::Skip,
    };
    let (report, seen) = run(&play, RelayConfig::default(), act, as_it_is, BRIEFLY);
    assert_eq!((report.acked, report.nacked, report.buried), (3, 1, 1));
    assert_eq!(calls(&seen), [vec![1, 2, 3, 4], vec![2], vec![3], vec![5]], "the last was alone at once");
    let none = "the handler gave no verdict".to_owned();
    assert_eq!(reasons(&play), BTreeMap::from([(id(3), none.clone()), (id(5), none)]));
}

#[test]
fn a_verdict_is_settled_when_it_is_given_and_not_when_the_handler_ends() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 3])]), Bench::default());
    let actor = Actor::new(&play.timer, |n, _| if n == 3 { Act::Hang } else { acks() });
    let (_stop, _task) = start_batches(&play, &bench, RelayConfig::default(), actor, as_it_is);
    bench.pass(&play.timer, Duration::from_millis(20));
    assert_eq!(play.batches(), [2]);
    assert_eq!(play.stage().leased.keys().copied().collect::<Vec<_>>(), [id(3)]);
}

/// Guard: batches have a time limit | src/pipelines/engine/end.rs `poll_timeouts`: does nothing
#[test]
fn a_batch_that_takes_too_long_is_dropped_and_what_has_no_verdict_comes_alone() {
    let play = Play::new([Answer::Messages(vec![1; 4])]);
    let config = RelayConfig { handle_timeout: Duration::from_secs(5), ..RelayConfig::default() };
    let act = |n, alone: bool| match n {
        2 if !alone => Act::Hang,
        3 => Act::Hang,
        4 => Act::AckAfter(Duration::from_secs(4)),
        _ => acks(),
    };
    let (report, seen) = run(&play, config, act, as_it_is, Duration::from_secs(20));
    let expected =
        PipelineReport { claimed: 4, acked: 3, nacked: 1, timed_out: 2, ..PipelineReport::default() };
    assert_eq!(report, expected);
    assert_eq!(calls(&seen), [vec![1, 2, 3, 4], vec![2], vec![3], vec![4]], "each with all of its time");
    assert_eq!(reasons(&play), BTreeMap::from([(id(3), "no verdict within 5s".to_owned())]));
    assert_eq!(seen.lock().unwrap().dropped, 2);
}

#[test]
fn second_verdicts_and_verdicts_on_nothing_change_nothing() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    let (report, seen) = run(&play, RelayConfig::default(), |_, _| Act::Babble, as_it_is, BRIEFLY);
    assert_eq!(report, PipelineReport { claimed: 3, acked: 3, ..PipelineReport::default() });
    assert_eq!((calls(&seen).len(), play.settled().len()), (1, 3));
}

#[test]
fn a_message_that_is_lost_gets_no_verdict_and_the_others_do() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    play.stage().superseded.push(id(2));
    let act = |_, _| Act::AckAfter(Duration::from_secs(7));
    let (report, seen) = run(&play, RelayConfig::default(), act, as_it_is, Duration::from_secs(40));
    let expected = PipelineReport { claimed: 3, acked: 2, superseded: 1, ..PipelineReport::default() };
    assert_eq!(report, expected);
    assert_eq!(calls(&seen).len(), 1);
    assert_eq!(of(&play.settled(), |ended| matches!(ended, Disposition::Done { .. })), [id(1), id(3)]);
    assert_eq!(returned(&play.settled()), [id(2)], "more time was asked for, so it is no failed attempt");
}

/// Guard: a verdict names a message of its own call | src/pipelines/verdict_box.rs `give`: no look at the index
#[test]
fn verdicts_on_nothing_of_a_message_that_is_alone_change_no_other() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    let act = |_, alone: bool| if alone { Act::Babble } else { Act::Skip };
    let (report, seen) = run(&play, RelayConfig::default(), act, as_it_is, BRIEFLY);
    assert_eq!(report, PipelineReport { claimed: 3, acked: 3, ..PipelineReport::default() });
    assert_eq!(calls(&seen), [vec![1, 2, 3], vec![1], vec![2], vec![3]]);
}

/// Guard: a batch handler is dropped when all its messages are lost | src/pipelines/call.rs `lose`: no
/// `stop`
#[test]
fn a_handler_is_dropped_when_all_that_it_is_at_is_lost() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 3])]), Bench::default());
    play.stage().superseded.extend([id(2), id(3)]);
    let actor = Actor::new(&play.timer, |n, _| if n == 1 { acks() } else { Act::Hang });
    let seen = Arc::clone(&actor.seen);
    let (stop, task) = start_batches(&play, &bench, RelayConfig::default(), actor, as_it_is);
    bench.pass(&play.timer, Duration::from_secs(9));
    assert_eq!(seen.lock().unwrap().dropped, 0, "nothing is lost yet");
    bench.pass(&play.timer, Duration::from_secs(2));
    assert_eq!(seen.lock().unwrap().dropped, 1);
    stop.send(()).unwrap();
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!((report.acked, report.superseded, calls(&seen).len()), (1, 2, 1));
}

#[test]
fn a_message_that_waits_to_be_alone_is_renewed_and_may_be_lost() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    play.stage().superseded.push(id(3));
    let act = |_, alone| if alone { Act::AckAfter(Duration::from_secs(25)) } else { Act::Skip };
    let (report, seen) = run(&play, RelayConfig::default(), act, as_it_is, Duration::from_secs(70));
    assert_eq!((report.acked, report.superseded, report.claimed), (2, 1, 3));
    assert_eq!(calls(&seen), [vec![1, 2, 3], vec![1], vec![2]]);
}

#[test]
fn no_more_batches_are_handled_at_once_than_the_concurrency() {
    let play = Play::new([Answer::Messages(vec![1; 20])]);
    let act = |_, _| Act::AckAfter(Duration::from_millis(10));
    let shape = |pipeline: BatchPipeline| pipeline.size(3).concurrency(2);
    let (report, seen) = run(&play, RelayConfig::default(), act, shape, Duration::from_secs(1));
    assert_eq!(report.acked, 20);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.most, 2);
    assert!(seen.calls.iter().all(|call| call.len() <= 3), "{:?}", seen.calls);
}

#[test]
fn what_waits_for_company_is_handed_out_at_its_age() {
    let play = Play::new([Answer::Messages(vec![1; 2]), Answer::Messages(vec![1; 2])]);
    let shape = |pipeline: BatchPipeline| pipeline.age(Duration::from_millis(300));
    let (_, seen) = run(&play, RelayConfig::default(), |_, _| acks(), shape, Duration::from_secs(1));
    assert_eq!(calls(&seen), [[1, 2, 3, 4]]);
}

#[test]
fn at_shutdown_a_batch_has_its_drain_time_and_then_its_attempts_have_failed() {
    let play = Play::new([Answer::Messages(vec![1; 6])]);
    let config = RelayConfig { drain: Duration::from_secs(5), ..RelayConfig::default() };
    let act = |n, alone: bool| match n {
        1 => Act::AckAfter(Duration::from_secs(1)),
        2 | 3 if !alone => Act::Skip,
        2 => Act::AckAfter(Duration::from_secs(1)),
        _ => Act::Hang,
    };
    let shape = |pipeline: BatchPipeline| pipeline.size(3).concurrency(1);
    let (report, seen) = run(&play, config, act, shape, Duration::from_millis(100));
    let expected =
        PipelineReport { claimed: 6, acked: 2, nacked: 1, released: 3, ..PipelineReport::default() };
    assert_eq!(report, expected);
    assert_eq!(calls(&seen), [vec![1, 2, 3], vec![2], vec![3]]);
    assert_eq!(reasons(&play), BTreeMap::from([(id(3), "stopped at shutdown".to_owned())]));
}

/// Guard: a verdict that a handler returns while it is dropped counts | src/pipelines/engine.rs `stop_all`:
/// takes no verdicts
#[test]
fn a_verdict_that_a_handler_gives_as_it_is_dropped_counts() {
    let act = |n, _| if n == 1 { Act::AckDropped } else { Act::Hang };
    let play = || Play::new([Answer::Messages(vec![1; 2])]);
    let beside = |play: &Play, config, time| spawn(play, config, act, as_it_is, time).0;
    let config = RelayConfig { handle_timeout: Duration::from_secs(5), ..RelayConfig::default() };
    let over_time = play();
    let report = beside(&over_time, config, Duration::from_secs(6));
    assert_eq!(report.acked, 1, "{report:?}");
    let config = RelayConfig { drain: Duration::from_secs(1), ..RelayConfig::default() };
    let at_shutdown = play();
    let report = beside(&at_shutdown, config, BRIEFLY);
    assert_eq!((report.acked, report.nacked), (1, 1), "{report:?}");
    assert_eq!(reasons(&at_shutdown), BTreeMap::from([(id(2), "stopped at shutdown".to_owned())]));
}

#[test]
fn settings_that_could_never_work_are_refused_when_it_runs() {
    let (play, mut bench) = (Play::default(), Bench::default());
    let refused = |shape: fn(BatchPipeline) -> BatchPipeline, says: &str, bench: &mut Bench| {
        let actor = Actor::new(&play.timer, |_, _| acks());
        let pipeline = play.relay(RelayConfig::default()).batch_pipeline("orders", actor).unwrap();
        let task = bench.start(shape(pipeline).run_until(pending()));
        let error = bench.finish(&play.timer, task).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    };
    refused(|pipeline| pipeline.size(0), "size of a batch is 0", &mut bench);
    refused(|pipeline| pipeline.concurrency(0), "concurrency is 0", &mut bench);
    refused(|pipeline| pipeline.concurrency(201), "concurrency is 201", &mut bench);
    refused(|pipeline| pipeline.room(0), "room is 0", &mut bench);
    refused(|pipeline| pipeline.room(201), "room is 201", &mut bench);
    refused(|pipeline| pipeline.age(Duration::from_secs(10)), "age of a batch is 10s", &mut bench);
    assert!(play.stage().claims.is_empty());
}

/// What a handler does with a message that was drawn so.
fn drawn(what: u8) -> Act {
    match what {
        0 => Act::Give(Verdict::nack("no")),
        1 => Act::Give(Verdict::bury("never")),
        2 => Act::Give(Verdict::Release),
        3 => Act::Panic,
        4 => Act::Hang,
        5 | 6 => Act::Skip,
        7 => Act::Babble,
        8 => Act::AckAfter(Duration::from_millis(170)),
        9 => ACK,
        _ => acks(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn every_message_of_a_batch_ends_in_one_settlement_whatever_the_handler_does(
        (concurrency, size, more) in (1..5_u32, 1..12_u32, 0..30_u32),
        (room, beside) in (prop::option::of(1..6_u32), any::<bool>()),
        settle_batch in 1..20_u32,
        age in 0..90_u64,
        answers in prop::collection::vec(
            prop_oneof![
                4 => Just(Answer::Full),
                4 => prop::collection::vec(1..6_u32, 0..15).prop_map(Answer::Messages),
                1 => prop::collection::vec(1..6_u32, 0..5).prop_map(Answer::CutOff),
                1 => Just(Answer::Fails(StoreErrorKind::Transient)),
            ],
            0..12,
        ),
        settle_fails in prop::collection::vec(any::<bool>(), 0..10),
        superseded in prop::collection::btree_set(1..100_u128, 0..20),
        together in prop::collection::vec(0..30_u8, 1..20),
        alone in prop::collection::vec(0..14_u8, 1..20),
        (stop_after, drain) in (0..3000_u64, 0..500_u64),
    ) {
        let play = Play::new(answers);
        for fails in settle_fails {
            use crate::play::SettleAnswer::*;
            play.stage().settle_answers.push_back(if fails { Fails(StoreErrorKind::Transient) } else { Taken });
        }
        play.stage().superseded = superseded.into_iter().map(id).collect();
        let config = RelayConfig {
            concurrency: 1, prefetch: concurrency + more, batch: 15, settle_batch,
            // Short enough that many handlers need renewals.
            lease: Lease::new(Duration::from_millis(300)).unwrap(),
            retry: RetryPolicy { max_attempts: 4, ..RetryPolicy::default() },
            handle_timeout: Duration::from_millis(400),
            drain: Duration::from_millis(drain),
            ..RelayConfig::default()
        };
        let act = move |n: u128, is_alone| {
            let drawn_by = if is_alone { &alone } else { &together };
            drawn(drawn_by[n as usize % drawn_by.len()])
        };
        let shape = |pipeline: BatchPipeline| {
            let pipeline = pipeline.size(size).concurrency(concurrency).age(Duration::from_millis(age));
            room.into_iter().fold(pipeline, |pipeline, room| pipeline.room(room.min(concurrency + more)))
        };
        let actor = Actor::new(&play.timer, act);
        let actor = if beside { actor.beside() } else { actor };
        let (report, seen) = run_batches(&play, config, actor, shape, Duration::from_millis(stop_after));

        let seen = seen.lock().unwrap();
        prop_assert!(seen.most <= concurrency as usize);
        prop_assert!(seen.calls.iter().all(|call| call.len() <= size as usize));
        prop_assert!(room.is_none_or(|room| report.superseded > 0 || seen.most_at <= room as usize));
        let made = play.stage().receipts.len() as u64;
        let PipelineReport { claimed, acked, nacked, buried, released, superseded, unsettled, .. } = report;
        prop_assert_eq!(claimed, made);
        prop_assert_eq!(claimed, acked + nacked + buried + released + superseded + unsettled, "{:?}", report);
        let mut calls = BTreeMap::<u128, usize>::new();
        seen.calls.iter().flatten().for_each(|n| *calls.entry(*n).or_default() += 1);
        prop_assert!(calls.values().all(|calls| *calls <= 2), "once in a batch, and once alone");
        prop_assert_eq!(play.timer.sleepers(), 0, "nothing is left behind");
        prop_assert!(play.timer.now() < Duration::from_secs(60));
    }
}
