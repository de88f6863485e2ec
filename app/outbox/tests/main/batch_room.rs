//! How many messages a handler of batches has at once, and that one that hangs stops no other.

use std::time::Duration;

use claimstream::{BatchPipeline, PipelineReport, RelayConfig};

use crate::{
    batch_actor::{Act, acks, calls, spawn},
    play::{Answer, Play, id},
};

#[test]
fn messages_that_hang_take_a_place_each_and_the_others_go_on() {
    let play = Play::new([Answer::Messages(vec![1; 40])]);
    let config = RelayConfig { drain: Duration::from_millis(10), ..RelayConfig::default() };
    // One in each of the first batches that there are: in as many batches as four slots would have.
    let act = |n, _| if n % 8 == 1 { Act::Hang } else { acks() };
    let (report, seen) = spawn(&play, config, act, |it| it.at_once(8), Duration::from_secs(5));
    assert_eq!((report.claimed, report.acked, report.nacked), (40, 35, 5));
    assert_eq!(seen.lock().unwrap().most_at, 8);
}

/// Guard: a time limit stops only calls whose time is up | src/pipelines/engine/end.rs `poll_timeouts`: stops
/// all that run
#[test]
fn the_time_limit_cuts_off_the_message_that_hangs_and_no_other() {
    let play = Play::new([Answer::Messages(vec![1; 30])]);
    let config = RelayConfig { handle_timeout: Duration::from_secs(5), ..RelayConfig::default() };
    let act = |n, _| if n == 3 { Act::Hang } else { Act::AckAfter(Duration::from_secs(3)) };
    let (report, seen) = spawn(&play, config, act, |it| it.at_once(6), Duration::from_secs(40));
    let expected =
        PipelineReport { claimed: 30, acked: 29, nacked: 1, timed_out: 2, ..PipelineReport::default() };
    assert_eq!(report, expected);
    let again = calls(&seen).concat().len() - 30;
    assert_eq!(again, 1, "only the one that hangs is handed out twice");
}

#[test]
fn a_batch_is_cut_to_the_room_that_is_left_and_begins_when_there_is_some() {
    let play = Play::new([Answer::Messages(vec![1; 7])]);
    let act = |n, _| Act::AckAfter(Duration::from_secs(if n == 1 { 1 } else { 9 }));
    let shape = |it: BatchPipeline| it.size(3).concurrency(5).room(5);
    let (report, seen) = spawn(&play, RelayConfig::default(), act, shape, Duration::from_secs(2));
    assert_eq!((report.acked, report.released), (6, 1));
    assert_eq!(calls(&seen), [vec![1, 2, 3], vec![4, 5], vec![6]]);
}

#[test]
fn a_lost_message_leaves_room_and_one_that_waits_to_be_alone_does_not() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    play.stage().superseded.push(id(1));
    let act = |n, _| if n == 3 { acks() } else { Act::Hang };
    let (report, seen) =
        spawn(&play, RelayConfig::default(), act, |it| it.at_once(2), Duration::from_secs(11));
    assert_eq!((report.acked, report.superseded), (1, 1));
    assert_eq!(calls(&seen), [vec![1, 2], vec![3]]);

    let play = Play::new([Answer::Messages(vec![1; 3])]);
    let act = |_, alone| if alone { Act::AckAfter(Duration::from_secs(1)) } else { Act::Skip };
    let (report, seen) =
        spawn(&play, RelayConfig::default(), act, |it| it.at_once(2), Duration::from_secs(9));
    assert_eq!(report.acked, 3);
    assert_eq!(calls(&seen), [vec![1, 2], vec![1], vec![2], vec![3]]);
}
