//! Any script of the store: what is yielded, and how much is held.

use std::{collections::BTreeSet, sync::Arc, sync::Mutex, time::Duration};

use claimstream::{
    Claim, Lease, MessageId, RelayConfig, RelayError, RetryPolicy, Settled, StoreErrorKind, Timer,
};
use claimstream_domain::Disposition;
use futures::StreamExt;
use proptest::prelude::*;

use crate::play::{Answer, Bench, Play, SettleAnswer, of};

const MAX_ATTEMPTS: u32 = 3;

#[derive(Clone, Copy, Debug)]
enum Act {
    Ack,
    Nack,
    Bury,
    Release,
    Drop,
}

fn act() -> impl Strategy<Value = Act> {
    prop::sample::select(vec![Act::Ack, Act::Ack, Act::Nack, Act::Bury, Act::Release, Act::Drop])
}

fn kind() -> impl Strategy<Value = StoreErrorKind> {
    use StoreErrorKind::*;
    prop::sample::select(vec![Transient, Unavailable, Unsupported, Corrupt, Conflict])
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        3 => prop::collection::vec(1..=MAX_ATTEMPTS + 1, 0..30).prop_map(Answer::Messages),
        2 => Just(Answer::Full),
        1 => kind().prop_map(Answer::Fails),
    ]
}

fn settle_answer() -> impl Strategy<Value = SettleAnswer> {
    use StoreErrorKind::*;
    prop_oneof![
        2 => Just(SettleAnswer::Taken),
        1 => prop::sample::select(vec![Transient, Unavailable]).prop_map(SettleAnswer::Fails),
    ]
}

fn config() -> impl Strategy<Value = RelayConfig> {
    (1..20_u32, 1..40_u32, 1..20_u32).prop_map(|(batch, prefetch, settle_batch)| RelayConfig {
        batch,
        prefetch,
        settle_batch,
        lease: Lease::new(Duration::from_secs(3600)).unwrap(),
        retry: RetryPolicy { max_attempts: MAX_ATTEMPTS, ..RetryPolicy::default() },
        ..RelayConfig::default()
    })
}

async fn end(play: Play, claim: Claim, act: Act, after: Duration) {
    let message = claim.message().id;
    assert!(claim.attempt() <= MAX_ATTEMPTS);
    play.timer.sleep(after).await;
    let settled = match act {
        Act::Ack => claim.ack().await,
        Act::Nack => claim.nack("no").await,
        Act::Bury => claim.bury("never").await,
        Act::Release => claim.release().await,
        Act::Drop => {
            play.stage().leased.remove(&message);
            return drop(claim);
        }
    };
    assert_eq!(settled.unwrap(), Settled::Accepted);
}

#[derive(Default)]
struct Seen {
    yielded: Vec<MessageId>,
    errors: Vec<RelayError>,
}

/// Reads the stream `width` claims at a time until the script is over and nothing is held any longer.
fn read(play: &Play, config: RelayConfig, width: usize, acts: Vec<(Act, u64)>) -> Seen {
    let mut bench = Bench::default();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let claims = play.relay(config).claims("orders").unwrap();
    let (noted, player) = (Arc::clone(&seen), play.clone());
    let _task = bench.start(claims.enumerate().for_each_concurrent(width, move |(n, claim)| {
        let (act, after) = acts[n % acts.len()];
        let play = player.clone();
        let claim = match claim {
            Ok(claim) => Some(claim),
            Err(error) => {
                noted.lock().unwrap().errors.push(error);
                None
            }
        };
        noted.lock().unwrap().yielded.extend(claim.iter().map(|claim| claim.message().id));
        async move {
            if let Some(claim) = claim {
                end(play, claim, act, Duration::from_millis(after)).await;
            }
        }
    }));
    for _ in 0..3000 {
        bench.settle();
        let over = { play.stage().answers.is_empty() && play.stage().leased.is_empty() };
        if over {
            break;
        }
        assert!(play.timer.advance_to_next(), "everybody waits and nobody sleeps");
    }
    assert!(play.stage().answers.is_empty() && play.stage().leased.is_empty(), "the stream came to a stand");
    bench.settle();
    std::mem::take(&mut *seen.lock().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn each_message_is_yielded_once_and_no_more_are_held_than_prefetch(
        config in config(),
        answers in prop::collection::vec(answer(), 0..25),
        settle_answers in prop::collection::vec(settle_answer(), 0..15),
        width in 1..30_usize,
        acts in prop::collection::vec((act(), 0..40_u64), 1..20),
    ) {
        let permanent = |answer: &&Answer| match answer {
            Answer::Fails(kind) => !matches!(kind, StoreErrorKind::Transient | StoreErrorKind::Unavailable),
            _ => false,
        };
        let errors = answers.iter().filter(permanent).count();
        let play = Play::new(answers);
        play.stage().settle_answers.extend(settle_answers);

        let seen = read(&play, config.clone(), width, acts);

        let stage = play.stage();
        prop_assert!(stage.most_leased <= config.prefetch as usize, "{} held", stage.most_leased);
        prop_assert!(stage.claims.iter().all(|call| call.asked <= config.batch as usize));
        let ids: BTreeSet<_> = stage.claims.iter().map(|call| call.claim).collect();
        prop_assert_eq!(ids.len(), stage.claims.len(), "a claim id was used twice");

        let yielded: BTreeSet<_> = seen.yielded.iter().copied().collect();
        prop_assert_eq!(yielded.len(), seen.yielded.len(), "something was yielded twice");
        let made: BTreeSet<_> = stage.receipts.keys().copied().collect();
        drop(stage);
        let buried_unheard: BTreeSet<_> = made.difference(&yielded).copied().collect();
        let unheard: BTreeSet<_> = of(&play.settled(), |disposition| {
            matches!(disposition, Disposition::Dead { reason, .. } if reason.as_str().starts_with("all 3 attempts used up"))
        }).into_iter().collect();
        prop_assert_eq!(buried_unheard, unheard, "exactly those over the limit are buried unheard");
        prop_assert_eq!(seen.errors.len(), errors, "exactly the permanent errors are yielded");
    }
}
