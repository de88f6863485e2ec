//! Settlements that fail.

use std::time::Duration;

use claimstream::{Claim, Compose, NewMessage, Pacing, RelayConfig, Settled, StoreErrorKind, Timer};
use claimstream_domain::Disposition;
use futures::{FutureExt, StreamExt, future::join_all};

use crate::play::{Answer, Bench, Play, SettleAnswer, accepted, id, of};
use crate::taken::{taken, wide};

#[test]
fn passing_errors_are_retried_with_growing_waits() {
    let play = Play::new([Answer::Messages(vec![1])]);
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Unavailable); 6]);
    let mut bench = Bench::default();
    let (_claims, taken) = taken(&play, &mut bench, wide(), 1);
    let task = bench.start(join_all(taken.into_iter().map(Claim::ack)));
    for settled in bench.finish(&play.timer, task) {
        assert_eq!(settled.unwrap(), Settled::Accepted);
    }
    let stage = play.stage();
    assert_eq!(stage.settlements.len(), 7);
    assert!(stage.settlements.windows(2).all(|pair| pair[0].1 == pair[1].1), "always the same call");
    let waits: Vec<_> = stage.settlements.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(waits[0] >= Duration::from_millis(20) && waits[5] >= Duration::from_millis(320), "{waits:?}");
}

#[test]
fn what_has_failed_together_twice_is_written_together_once_more() {
    let play = Play::new([Answer::Messages(vec![1; 2])]);
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Unavailable); 2]);
    let mut bench = Bench::default();
    let (_claims, taken) = taken(&play, &mut bench, wide(), 2);
    let task = bench.start(join_all(taken.into_iter().map(Claim::ack)));
    for settled in bench.finish(&play.timer, task) {
        assert_eq!(settled.unwrap(), Settled::Accepted);
    }
    assert_eq!(play.batches(), [2, 2, 2]);
}

/// Guard: a group of settlements that keeps failing is halved | src/settle/settlement_writer.rs
/// `RetryBudget::TOGETHER`: never reached
#[test]
fn a_settlement_that_never_passes_does_not_keep_the_others() {
    let play = Play::new([Answer::Messages(vec![1; 40])]);
    play.stage().stuck = Some(id(7));
    let mut bench = Bench::default();
    let (_claims, taken) = taken(&play, &mut bench, wide(), 40);
    let task = bench.start(join_all(taken.into_iter().map(Claim::ack)));
    let outcomes = bench.finish(&play.timer, task);
    for (n, outcome) in (1..).zip(&outcomes) {
        match n {
            7 => assert!(outcome.as_ref().is_err_and(|error| error.is_retryable())),
            n => assert_eq!(outcome.as_ref().unwrap(), &Settled::Accepted, "{n}"),
        }
    }
    let calls = play.batches().len();
    assert!(calls < 40, "{calls} calls: each time half of those that fail is tried apart");
}

#[test]
fn errors_are_retried_until_the_deadline_and_then_told() {
    let play = Play::new([Answer::Messages(vec![1; 2])]);
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Transient); 1000]);
    let mut bench = Bench::default();
    let (_claims, taken) = taken(&play, &mut bench, wide(), 2);
    let task = bench.start(join_all(taken.into_iter().map(Claim::ack)));
    let outcomes = bench.finish(&play.timer, task);
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_err_and(|error| error.is_retryable())));
    assert_eq!(play.timer.now(), Duration::from_millis(28_500), "a lease less a twentieth");
}

#[test]
fn a_settlement_that_is_refused_for_good_does_not_take_the_others_down() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    play.stage().refused = Some(id(2));
    let mut bench = Bench::default();
    let (_claims, taken) = taken(&play, &mut bench, wide(), 3);
    let task = bench.start(join_all(taken.into_iter().map(Claim::ack)));
    let outcomes = bench.finish(&play.timer, task);
    assert_eq!(outcomes[0].as_ref().unwrap(), &Settled::Accepted);
    assert_eq!(outcomes[1].as_ref().unwrap_err().kind(), Some(StoreErrorKind::Corrupt));
    assert_eq!(outcomes[2].as_ref().unwrap(), &Settled::Accepted);
}

/// Two claims of one stream, the second so much younger than the first.
fn old_and_fresh(play: &Play, bench: &mut Bench, config: RelayConfig, apart: Duration) -> (Claim, Claim) {
    play.stage().answers.extend([Answer::Messages(vec![1]), Answer::Messages(vec![1])]);
    let mut claims = play.relay(config).claims("orders").unwrap();
    let timer = play.timer.clone();
    let task = bench.start(async move {
        let old = claims.next().await.unwrap().unwrap();
        timer.advance(apart);
        let fresh = claims.next().await.unwrap().unwrap();
        (old, fresh)
    });
    bench.finish(&play.timer, task)
}

#[test]
fn a_settlement_that_is_past_its_deadline_does_not_cost_the_others_their_retries() {
    let (play, mut bench) = (Play::default(), Bench::default());
    let (old, fresh) = old_and_fresh(&play, &mut bench, wide(), Duration::from_secs(29));
    assert_eq!(old.remaining(), Duration::ZERO);
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Transient); 3]);
    let (old, fresh) = (bench.start(old.ack()), bench.start(fresh.ack()));
    accepted(bench.finish(&play.timer, fresh));
    assert!(old.take().unwrap().unwrap_err().is_retryable());
    assert_eq!(play.batches(), [2, 1, 1, 1], "it was tried once");
}

#[test]
fn a_deadline_that_passes_ends_one_settlement_and_the_others_go_on() {
    let (play, mut bench) = (Play::default(), Bench::default());
    let (old, fresh) = old_and_fresh(&play, &mut bench, wide(), Duration::from_secs(20));
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Unavailable); 1000]);
    let (old, fresh) = (bench.start(old.ack()), bench.start(fresh.ack()));
    assert!(bench.finish(&play.timer, old).is_err());
    assert_eq!(play.timer.now(), Duration::from_millis(28_500), "told at its own deadline");
    assert!(!fresh.is_done());
    play.stage().settle_answers.clear();
    accepted(bench.finish(&play.timer, fresh));
}

#[test]
fn waits_after_failures_leave_room_in_the_lease_for_many_tries() {
    let (play, mut bench) = (Play::default(), Bench::default());
    let pacing = Pacing { idle_min: Duration::from_secs(60), idle_max: Duration::from_secs(600) };
    play.stage().answers.push_back(Answer::Messages(vec![1]));
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Unavailable); 3]);
    let (_claims, mut taken) = taken(&play, &mut bench, RelayConfig { pacing, ..wide() }, 1);
    let task = bench.start(taken.remove(0).ack());
    accepted(bench.finish(&play.timer, task));
    assert_eq!(play.timer.now(), Duration::from_secs(9), "three waits of a tenth of the lease");
}

#[test]
fn a_message_whose_children_are_refused_for_good_is_buried_for_that_and_the_acker_is_told() {
    let play = Play::new([Answer::Messages(vec![1; 3])]);
    play.stage().refuses_children = true;
    let mut bench = Bench::default();
    let (_claims, taken) = taken(&play, &mut bench, wide(), 3);
    let child = || NewMessage::json("mails", &"dear").unwrap();
    let [plain, parent, another]: [Claim; 3] = taken.try_into().unwrap();
    let task = bench.start(join_all([
        plain.ack().boxed(),
        parent.ack_emitting(vec![child()]).boxed(),
        another.ack_emitting(vec![child()]).boxed(),
    ]));
    let outcomes = bench.finish(&play.timer, task);
    assert_eq!(outcomes[0].as_ref().unwrap(), &Settled::Accepted);
    for refused in &outcomes[1..] {
        assert_eq!(refused.as_ref().unwrap_err().kind(), Some(StoreErrorKind::Corrupt));
    }
    let buried = of(
        &play.settled(),
        |disposition| matches!(disposition, Disposition::Dead { reason, .. } if reason.as_str().contains("too large")),
    );
    assert_eq!(buried, [id(2), id(3)]);
    assert!(play.stage().leased.is_empty());
}
