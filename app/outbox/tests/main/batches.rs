//! Messages that are handed out and settled in batches.
//! Promise: one call settles a batch, each message has its own outcome, and an error names what was not
//! settled

use std::time::Duration;

use claimstream::{Batch, BatchError, BatchOutcome, Batches, RelayConfig, StoreErrorKind, Timer, Verdict};
use claimstream_domain::Disposition;
use futures::StreamExt;
use proptest::prelude::*;

use crate::{
    play::{Answer, Bench, Play, SettleAnswer, id, of, returned},
    taken::wide,
};

/// The stream of batches of `play` and its first batch.
fn first(play: &Play, bench: &mut Bench, batches: Batches) -> (Batches, Batch) {
    let task = bench.start(next(batches));
    bench.finish(&play.timer, task)
}

async fn next(mut batches: Batches) -> (Batches, Batch) {
    let batch = batches.next().await.unwrap().unwrap();
    (batches, batch)
}

fn batches(play: &Play, config: RelayConfig) -> Batches {
    play.relay(config).claims("orders").unwrap().batches()
}

fn numbers(batch: &Batch) -> Vec<u128> {
    batch.iter().map(|claimed| claimed.message.id.uuid().as_u128()).collect()
}

#[test]
fn all_that_was_claimed_together_is_one_batch_and_one_settlement() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 70])]), Bench::default());
    let (_batches, batch) = first(&play, &mut bench, batches(&play, wide()));
    assert_eq!((batch.len(), batch.is_empty()), (70, false));
    assert_eq!(numbers(&batch), (1..=70).collect::<Vec<_>>());
    assert_eq!(batch.remaining(), Duration::from_millis(28_500));
    let task = bench.start(batch.ack_all());
    bench.settle();
    let outcome = task.take().expect("nothing else could join").unwrap();
    assert_eq!(outcome, BatchOutcome { accepted: 70, superseded: vec![] });
    assert_eq!((play.batches(), play.timer.now()), (vec![70], Duration::ZERO));
}

#[test]
fn a_batch_has_one_message_of_a_key_and_the_next_batch_the_one_behind_it() {
    let (play, mut bench) = (Play::new([Answer::Run(3)]), Bench::default());
    let mut batches = batches(&play, wide());
    for n in 1..=3 {
        let (rest, batch) = first(&play, &mut bench, batches);
        batches = rest;
        assert_eq!(numbers(&batch), [n]);
        let task = bench.start(batch.ack_all());
        assert_eq!(bench.finish(&play.timer, task).unwrap().accepted, 1);
    }
}

#[test]
fn a_batch_that_is_larger_than_a_settlement_is_cut() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 7])]), Bench::default());
    let config = RelayConfig { settle_batch: 3, ..wide() };
    let (_batches, batch) = first(&play, &mut bench, batches(&play, config).size(10));
    let task = bench.start(batch.ack_all());
    assert_eq!(bench.finish(&play.timer, task).unwrap().accepted, 7);
    assert_eq!(play.batches(), [3, 3, 1]);
}

#[test]
fn batches_have_no_more_messages_than_their_size() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 7])]), Bench::default());
    let mut stream = batches(&play, wide()).size(3);
    for expected in [vec![1, 2, 3], vec![4, 5, 6], vec![7]] {
        let batch;
        (stream, batch) = first(&play, &mut bench, stream);
        assert_eq!(numbers(&batch), expected);
    }
    assert_eq!(play.timer.now(), Duration::ZERO, "nothing was waited for");
}

#[test]
fn each_message_gets_its_own_verdict() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1, 1, 1, 1])]), Bench::default());
    play.stage().superseded.push(id(1));
    let (_batches, batch) = first(&play, &mut bench, batches(&play, wide()));
    let verdicts = [Verdict::ack(), Verdict::nack("no"), Verdict::bury("never"), Verdict::Release];
    let task = bench.start(batch.settle(verdicts));
    let outcome = bench.finish(&play.timer, task).unwrap();
    assert_eq!(outcome, BatchOutcome { accepted: 3, superseded: vec![id(1)] });
    assert_eq!(play.batches(), [4]);
    let settled = play.settled();
    assert_eq!(of(&settled, |ended| matches!(ended, Disposition::Done { .. })), [id(1)]);
    assert_eq!(of(&settled, |ended| matches!(ended, Disposition::Retry { .. })), [id(2)]);
    assert_eq!(of(&settled, |ended| matches!(ended, Disposition::Dead { .. })), [id(3)]);
    assert_eq!(returned(&settled), [id(4)]);
}

/// Guard: a batch takes one verdict for each message | src/stream/batch.rs `settle`: no look at the count
#[test]
fn a_wrong_count_of_verdicts_settles_nothing_and_gives_the_batch_back() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1, 1])]), Bench::default());
    let (_batches, mut batch) = first(&play, &mut bench, batches(&play, wide()));
    for (given, says) in
        [(1, "only 1 verdicts were given for 2"), (5, "more than 2 verdicts were given for 2")]
    {
        let task = bench.start(batch.settle(vec![Verdict::ack(); given]));
        let error = bench.finish(&play.timer, task).unwrap_err();
        assert!(error.to_string().starts_with(says), "{error}");
        let BatchError::Count { batch: again, .. } = error else { panic!("{error}") };
        batch = *again;
    }
    assert!(play.settled().is_empty());
    let task = bench.start(batch.release_all());
    assert_eq!(bench.finish(&play.timer, task).unwrap().accepted, 2);
}

#[test]
fn an_error_names_what_was_not_settled() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 3])]), Bench::default());
    play.stage().refused = Some(id(2));
    let (_batches, batch) = first(&play, &mut bench, batches(&play, wide()));
    let task = bench.start(batch.ack_all());
    let error = bench.finish(&play.timer, task).unwrap_err();
    assert!(error.to_string().starts_with("1 of 3 messages were not settled, the first is"), "{error}");
    let BatchError::Store { outcome, failed } = error else { panic!("{error}") };
    assert_eq!(outcome.accepted, 2);
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].0, failed[0].1.kind()), (id(2), Some(StoreErrorKind::Corrupt)));
}

#[test]
fn what_waits_for_company_is_handed_out_at_its_age_or_when_it_is_enough() {
    let answers = [Answer::Messages(vec![1; 2]), Answer::Messages(vec![1; 2]), Answer::Messages(vec![1; 20])];
    let (play, mut bench) = (Play::new(answers), Bench::default());
    let stream = batches(&play, wide()).size(10).age(Duration::from_millis(400));
    let (stream, batch) = first(&play, &mut bench, stream);
    assert_eq!(batch.len(), 10, "the third claim has brought enough");
    assert!(play.timer.now() < Duration::from_millis(400));
    let (stream, second) = first(&play, &mut bench, stream);
    assert_eq!(second.len(), 10);
    let before = play.timer.now();
    let (_stream, third) = first(&play, &mut bench, stream);
    assert_eq!((third.len(), play.timer.now() - before), (4, Duration::from_millis(400)));
}

/// Guard: messages that were delivered before are in no batch with new ones | src/stream/buffer.rs `take_together`:
/// all fit
#[test]
fn messages_that_come_again_are_in_no_batch_with_new_ones() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1, 3, 1, 2, 1])]), Bench::default());
    let (stream, batch) = first(&play, &mut bench, batches(&play, wide()));
    assert_eq!(numbers(&batch), [1, 3, 5]);
    let (_stream, batch) = first(&play, &mut bench, stream);
    assert_eq!(numbers(&batch), [2, 4]);
}

#[test]
fn a_suspect_comes_alone() {
    let (play, mut bench) = (Play::new([Answer::CutOff(vec![2, 12, 3])]), Bench::default());
    let (stream, batch) = first(&play, &mut bench, batches(&play, wide()));
    assert_eq!(numbers(&batch), [1, 3]);
    let (_stream, batch) = first(&play, &mut bench, stream);
    assert_eq!(numbers(&batch), [2]);
}

/// Guard: a suspect that comes first is a batch of its own | src/stream/buffer.rs `take_together`: `most` for all
#[test]
fn a_suspect_that_comes_first_comes_alone() {
    let (play, mut bench) = (Play::new([Answer::CutOff(vec![12, 2, 3])]), Bench::default());
    let (stream, batch) = first(&play, &mut bench, batches(&play, wide()));
    assert_eq!(numbers(&batch), [1]);
    let (_stream, batch) = first(&play, &mut bench, stream);
    assert_eq!(numbers(&batch), [2, 3]);
}

/// Guard: a linger that is over is not polled again | src/stream/linger.rs `is_due`: no `Over`
#[test]
fn a_suspect_that_has_waited_for_company_still_waits_until_the_others_have_gone_back() {
    let play = Play::new([Answer::CutOff(vec![12, 12])]);
    // The other one cannot go back for a while, longer than the age.
    play.stage().settle_answers.extend([SettleAnswer::Fails(StoreErrorKind::Transient); 3]);
    let mut bench = Bench::default();
    let stream = batches(&play, wide()).age(Duration::from_millis(5));
    let (_stream, batch) = first(&play, &mut bench, stream);
    assert_eq!(numbers(&batch), [1]);
    assert_eq!(play.settled().len(), 4, "three times in vain, and then it went back");
}

#[test]
fn a_batch_that_is_dropped_says_nothing_and_its_room_is_free_again() {
    let (play, mut bench) = (Play::new([Answer::Full, Answer::Full]), Bench::default());
    let config = RelayConfig { prefetch: 5, batch: 5, concurrency: 5, ..RelayConfig::default() };
    let (stream, batch) = first(&play, &mut bench, batches(&play, config));
    drop(batch);
    let (_stream, batch) = first(&play, &mut bench, stream);
    assert_eq!(numbers(&batch), [6, 7, 8, 9, 10]);
    assert!(play.settled().is_empty());
}

#[test]
fn a_batch_can_be_taken_apart_and_its_claims_settled_one_by_one() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 2])]), Bench::default());
    let (_batches, batch) = first(&play, &mut bench, batches(&play, wide()));
    let task = bench.start(async move {
        for mut claim in batch.into_claims() {
            claim.renew().await.unwrap();
            claim.ack().await.unwrap();
        }
    });
    bench.finish(&play.timer, task);
    assert_eq!(play.settled().len(), 2);
}

#[test]
fn a_stream_of_batches_is_stopped_and_closed_like_one_of_claims() {
    let (play, mut bench) = (Play::new([Answer::Messages(vec![1; 5])]), Bench::default());
    let (timer, mut stream) = (play.timer.clone(), batches(&play, wide()).size(2));
    let task = bench.start(async move {
        let mut sizes = Vec::new();
        let mut until_told = stream.until(timer.sleep(Duration::from_secs(1)));
        while let Some(batch) = until_told.next().await {
            let batch = batch.unwrap();
            sizes.push(batch.len());
            batch.ack_all().await.unwrap();
            timer.sleep(Duration::from_millis(600)).await;
        }
        drop(until_told);
        (sizes, stream.close().await.unwrap())
    });
    assert_eq!(bench.finish(&play.timer, task), (vec![2, 2], 1));
    assert_eq!(returned(&play.settled()), [id(5)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn every_message_of_every_batch_gets_its_own_answer(
        counts in prop::collection::vec(1..40_usize, 1..6),
        settle_batch in 1..20_u32,
        superseded in prop::collection::btree_set(1..100_u128, 0..30),
        fails in prop::collection::vec(any::<bool>(), 0..6),
    ) {
        let all: usize = counts.iter().sum();
        let (play, mut bench) = (Play::new([Answer::Messages(vec![1; all])]), Bench::default());
        for fails in fails {
            use crate::play::SettleAnswer::*;
            play.stage().settle_answers.push_back(if fails { Fails(StoreErrorKind::Transient) } else { Taken });
        }
        play.stage().superseded = superseded.iter().map(|n| id(*n)).collect();
        let config = RelayConfig { settle_batch, batch: 1000, ..wide() };
        let mut stream = batches(&play, config);
        let mut tasks = Vec::new();
        for count in counts {
            let batch;
            (stream, batch) = first(&play, &mut bench, stream.size(count as u32));
            prop_assert_eq!(batch.len(), count);
            tasks.push((numbers(&batch), bench.start(batch.ack_all())));
        }
        for (numbers, task) in tasks {
            let outcome = bench.finish(&play.timer, task).unwrap();
            let lost: Vec<_> = numbers.iter().filter(|n| superseded.contains(n)).map(|n| id(*n)).collect();
            prop_assert_eq!(outcome.accepted, numbers.len() - lost.len());
            prop_assert_eq!(outcome.superseded, lost);
        }
    }
}
