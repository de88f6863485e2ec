//! What is said of a message that becomes a dead letter.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{
    Compose, DeadLetterClass, DeadLetterEvent, NewMessage, QueueName, RelayConfig, RetryPolicy,
    StoreErrorKind, Verdict, handler_fn,
};
use claimstream_domain::Disposition;

use crate::play::{Answer, Bench, Play, SettleAnswer, id, queue};

/// Runs a pipeline on messages with these attempts, of which two are allowed, until all are settled; answers what the hook
/// was called with.
fn run(play: &Play, config: RelayConfig) -> Vec<DeadLetterEvent> {
    let told = Arc::<Mutex<Vec<_>>>::default();
    let mut bench = Bench::default();
    let hook = Arc::clone(&told);
    let config = RelayConfig {
        retry: RetryPolicy { max_attempts: 2, ..RetryPolicy::default() },
        handle_timeout: Duration::from_secs(5),
        ..config
    };
    let relay = play.relay(config).on_dead_letter(move |event| {
        hook.lock().unwrap().push(event.clone());
        assert!(event.class != DeadLetterClass::Buried, "a hook that panics stops nothing");
    });
    let handler = handler_fn(|claimed| async move {
        match claimed.message.id.uuid().as_u128() {
            1 => Verdict::bury("never"),
            2 => Verdict::nack("not again"),
            3 => panic!("oh"),
            4 => futures::future::pending().await,
            6 => Verdict::Ack { emit: vec![NewMessage::json("mails", &"dear").unwrap()] },
            _ => Verdict::ack(),
        }
    });
    let timer = play.timer.clone();
    let stop = async move { claimstream::Timer::sleep(&timer, Duration::from_secs(8)).await };
    let task = bench.start(relay.pipeline("orders", handler).unwrap().run_until(stop));
    let report = bench.finish(&play.timer, task).unwrap();
    assert_eq!(report.unsettled, 0, "{report:?}");
    told.lock().unwrap().clone()
}

fn told(n: u128, attempts: u32, class: DeadLetterClass, reason: &str) -> DeadLetterEvent {
    let (message, queue, reason) = (id(n).uuid(), "orders".into(), reason.into());
    DeadLetterEvent { message, queue, attempts, class, reason }
}

#[test]
fn the_hook_is_called_for_what_is_known_of_a_batch_and_for_the_rest_when_it_is_known() {
    let play = Play::new([Answer::Messages(vec![1, 2, 1])]);
    // The third panics, and is settled along with the two that are dead.
    play.stage().settle_answers.extend([SettleAnswer::Knows(1)]);
    let mut all = run(&play, RelayConfig::default());
    all.sort_by_key(|event| event.message);
    let expected =
        [told(1, 1, DeadLetterClass::Buried, "never"), told(2, 2, DeadLetterClass::Failed, "not again")];
    assert_eq!(all, expected);
    assert!(play.batches()[0] > 1 && play.batches().len() > 1, "{:?}", play.batches());
}

#[test]
fn the_hook_is_called_once_for_each_with_the_class_of_its_error() {
    // The second of the seven is not dead yet the first time; the fifth ends every process; the last is fine.
    let play = Play::new([Answer::Messages(vec![1, 2, 2, 2, 3, 2, 2])]);
    play.stage().refuses_children = true;
    let mut all = run(&play, RelayConfig::default());
    all.sort_by_key(|event| event.message);
    let unheard = "all 2 attempts used up, the last never ended; before it: attempt 2 of 5 failed";
    let refused = "settle: corrupt: a child that is too large";
    let expected = [
        told(1, 1, DeadLetterClass::Buried, "never"),
        told(2, 2, DeadLetterClass::Failed, "not again"),
        told(3, 2, DeadLetterClass::Panicked, "panicked: oh"),
        told(4, 2, DeadLetterClass::TimedOut, "no verdict within 5s"),
        told(5, 3, DeadLetterClass::NeverEnded, unheard),
        told(6, 2, DeadLetterClass::ChildrenRefused, refused),
    ];
    assert_eq!(all, expected);
}

#[test]
fn what_is_not_dead_is_not_told() {
    let play = Play::new([Answer::Messages(vec![2, 1, 1, 1])]);
    play.stage().superseded = vec![id(1)];
    assert_eq!(run(&play, RelayConfig::default()), []);
}

/// Guard: a dead letter's event is emitted | src/setup.rs `recorded`: nothing is emitted
#[test]
fn an_event_goes_into_its_queue_with_the_burial() {
    let play = Play::new([Answer::Messages(vec![1, 2])]);
    let events = QueueName::new("claimstream.dead").unwrap();
    let config = RelayConfig { dead_letter_events: Some(events.clone()), ..RelayConfig::default() };
    let called = run(&play, config);
    let mut emitted = Vec::new();
    for settlement in play.settled() {
        let Disposition::Dead { emit, .. } = &settlement.disposition else { panic!("{settlement:?}") };
        assert_eq!(emit.len(), 1);
        assert_eq!(emit[0].queue, events);
        emitted.push(serde_json::from_slice::<DeadLetterEvent>(emit[0].payload.bytes()).unwrap());
    }
    assert_eq!(emitted, called);
    assert_eq!(emitted.len(), 2);
}

#[test]
fn a_burial_that_is_repeated_has_the_same_event() {
    let play = Play::new([Answer::Messages(vec![1])]);
    play.stage().settle_answers.push_back(SettleAnswer::Fails(StoreErrorKind::Unavailable));
    let events = QueueName::new("claimstream.dead").unwrap();
    run(&play, RelayConfig { dead_letter_events: Some(events), ..RelayConfig::default() });
    let settled = play.settled();
    assert_eq!(settled.len(), 2);
    assert_eq!(settled[0], settled[1]);
}

/// Guard: an event that dies has no event of its own | src/setup.rs `recorded`: no look at the queue
#[test]
fn a_dead_event_has_no_event_of_its_own() {
    let play = Play::new([Answer::Messages(vec![1])]);
    let config = RelayConfig { dead_letter_events: Some(queue()), ..RelayConfig::default() };
    assert_eq!(run(&play, config).len(), 1, "the hook is called all the same");
    assert!(matches!(&play.settled()[0].disposition, Disposition::Dead { emit, .. } if emit.is_empty()));
}

#[test]
fn a_message_whose_event_is_refused_is_buried_without_it() {
    let play = Play::new([Answer::Messages(vec![1])]);
    play.stage().refuses_children = true;
    let events = QueueName::new("claimstream.dead").unwrap();
    let config = RelayConfig { dead_letter_events: Some(events), ..RelayConfig::default() };
    assert_eq!(run(&play, config), [told(1, 1, DeadLetterClass::Buried, "never")]);
}
