//! A1.9: what becomes of a message whose provider fails, and what is noted of it.
//! Promise: a message that a provider may have accepted goes to no other, unless the settings allow it; then
//! it is counted and logged; a doubt is kept without the attempt log, and every provider that was asked is
//! recorded once

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_domain::{
    Claimed, Disposition, Doubt, Jitter, Reason, RetryPolicy, Verdict, decide,
    notification::{Answer, Channel, DeliveryStatus, provider::ProviderName},
};
use claimstream_ports::{
    Handler,
    mock::{MockAttemptLog, MockChannelProvider, MockMessageRepository},
    notification::{ChannelProvider, Delivered, DeliveryAttempt, DeliveryError, DeliveryState},
};

use super::{
    super::{MessageConfig, MessageHandler, NamedProvider, Providers, Route},
    finish,
    fixture::{claimed_message, down, notification},
};

/// The specification's waits have no jitter.
fn config() -> MessageConfig {
    MessageConfig { retry: RetryPolicy { jitter: Jitter::None, ..MessageConfig::default().retry } }
}

fn answering(answers: Vec<Result<Delivered, DeliveryError>>) -> Arc<dyn ChannelProvider> {
    let mut provider = MockChannelProvider::new();
    let (times, answers) = (answers.len(), Mutex::new(answers));
    provider.expect_deliver().times(times).returning(move |message| {
        assert_eq!(message.id, notification().id, "each attempt bears the same id");
        answers.lock().expect("no panic elsewhere").remove(0)
    });
    Arc::new(provider)
}

fn busy() -> Result<Delivered, DeliveryError> {
    Err(DeliveryError::transient("HTTP 503"))
}

fn refused() -> Result<Delivered, DeliveryError> {
    Err(DeliveryError::permanent("HTTP 400"))
}

fn taken(reference: &str) -> Result<Delivered, DeliveryError> {
    Ok(Delivered { reference: Some(reference.into()) })
}

/// A pending message that is concluded `times` times, as `status`.
fn concluding(times: usize, status: DeliveryStatus) -> Arc<MockMessageRepository> {
    let mut messages = MockMessageRepository::new();
    let states = messages.expect_delivery_states();
    states.returning(|ids| Ok(vec![DeliveryStatus::Pending.into(); ids.len()]));
    let concluded = messages.expect_conclude().times(times);
    concluded.withf(move |all| all.len() == 1 && all[0].status == status).returning(|_| Ok(()));
    Arc::new(messages)
}

/// What the pipeline makes of each attempt in turn.
fn attempts(
    messages: Arc<MockMessageRepository>,
    providers: Providers,
    numbers: std::ops::RangeInclusive<u32>,
) -> Vec<Disposition> {
    let handler = MessageHandler::new(messages, providers, config()).expect("a good configuration");
    let policy = config().pipeline_retry();
    let attempt = |number| {
        let verdict = finish(handler.handle(&claimed_message(&notification(), number)));
        decide(verdict, number, &policy, 7)
    };
    numbers.map(attempt).collect()
}

fn waits(dispositions: &[Disposition]) -> Vec<u64> {
    let wait = |one: &Disposition| match one {
        Disposition::Retry { after, .. } => after.as_secs(),
        other => panic!("not put off: {other:?}"),
    };
    dispositions.iter().map(wait).collect()
}

#[test]
fn a1_9_503_503_ok_is_three_attempts_after_30_and_60_seconds() {
    let providers = Providers::new().with(Channel::Email, answering(vec![busy(), busy(), taken("r-1")]));
    let ends = attempts(concluding(1, DeliveryStatus::Delivered), providers, 1..=3);
    assert_eq!(waits(&ends[..2]), [30, 60]);
    assert_eq!(ends[2], Disposition::Done { emit: vec![] });
}

#[test]
fn a1_9_400_is_failed_at_once() {
    let providers = Providers::new().with(Channel::Email, answering(vec![refused()]));
    let ends = attempts(concluding(1, DeliveryStatus::Failed), providers, 1..=1);
    assert_eq!(ends, [Disposition::dead(Reason::new("HTTP 400"))]);
}

#[test]
fn a1_9_the_eleventh_transient_failure_is_dead() {
    let providers = Providers::new().with(Channel::Email, answering((0..11).map(|_| busy()).collect()));
    let ends = attempts(concluding(1, DeliveryStatus::Failed), providers, 1..=11);
    assert_eq!(waits(&ends[..10]), [30, 60, 120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360]);
    assert_eq!(ends[10], Disposition::dead(Reason::new("HTTP 503")));
}

fn route(first: Arc<dyn ChannelProvider>, second: Arc<dyn ChannelProvider>) -> Providers {
    let named = |name, provider| Arc::new(NamedProvider::unguarded(name, provider).expect("a name"));
    let route = Route::in_order().with(named("primary", first)).expect("primary");
    let route = route.with(named("secondary", second)).expect("secondary");
    Providers::new().with_route(Channel::Email, route)
}

#[test]
fn a1_9_while_the_primary_is_down_the_secondary_delivers_the_same_message() {
    let (first, second) =
        (answering(vec![Err(DeliveryError::down("refused"))]), answering(vec![taken("r-2")]));
    let ends = attempts(concluding(1, DeliveryStatus::Delivered), route(first, second), 1..=1);
    assert_eq!(ends, [Disposition::Done { emit: vec![] }]);
}

/// Expects these attempts to be noted together once: provider, call, number, answer.
fn logging(expected: Vec<(&'static str, u32, u32, Answer)>) -> MockAttemptLog {
    let mut log = MockAttemptLog::new();
    log.expect_note().times(1).returning(move |all: &[DeliveryAttempt]| {
        let seen: Vec<_> = all.iter().map(|a| (a.provider.as_str(), a.call, a.number, a.answer)).collect();
        assert_eq!(seen, expected);
        Ok(())
    });
    log
}

fn handle(
    messages: Arc<MockMessageRepository>,
    providers: Providers,
    log: MockAttemptLog,
    n: u32,
) -> Verdict {
    let handler = MessageHandler::new(messages, providers, config()).expect("a good configuration");
    finish(handler.with_attempt_log(Arc::new(log)).handle(&claimed_message(&notification(), n)))
}

#[test]
fn every_provider_that_was_asked_is_noted_together_with_the_conclusion() {
    let (first, second) = (answering(vec![Err(DeliveryError::down("refused"))]), answering(vec![taken("r")]));
    let log = logging(vec![("primary", 1, 1, Answer::NO_SESSION), ("secondary", 2, 1, Answer::DELIVERED)]);
    let verdict = handle(concluding(1, DeliveryStatus::Delivered), route(first, second), log, 1);
    assert_eq!(verdict, Verdict::ack());
}

#[test]
fn an_attempt_that_is_put_off_is_noted_and_nothing_is_concluded() {
    let providers = route(answering(vec![busy()]), answering(vec![busy()]));
    let log = logging(vec![("primary", 1, 1, Answer::LATER), ("secondary", 2, 1, Answer::LATER)]);
    let verdict = handle(concluding(0, DeliveryStatus::Failed), providers, log, 1);
    assert_eq!(verdict, Verdict::Nack { after: None, reason: Reason::new("HTTP 503") });
}

#[test]
fn attempts_that_cannot_be_noted_change_nothing_for_the_message() {
    let mut log = MockAttemptLog::new();
    log.expect_note().times(1).returning(|_| Err(down("note")));
    let providers = Providers::new().with(Channel::Email, answering(vec![taken("r")]));
    assert_eq!(handle(concluding(1, DeliveryStatus::Delivered), providers, log, 1), Verdict::ack());
}

/// A message that stands so, and that the secondary provider may have.
fn doubted(status: DeliveryStatus) -> MockMessageRepository {
    let mut messages = MockMessageRepository::new();
    let in_doubt = vec![ProviderName::new("secondary").expect("a name")];
    let state = DeliveryState { in_doubt, ..status.into() };
    let states = messages.expect_delivery_states().times(1).withf(|ids| ids == [notification().id]);
    states.returning(move |_| Ok(vec![state.clone()]));
    messages
}

/// Guard: a message in doubt stays with its provider | src/routing/route.rs `choose`: all providers
#[test]
fn a_message_in_doubt_stays_with_its_provider_whatever_the_number_of_its_attempt() {
    for number in [1, 2] {
        let log = logging(vec![("secondary", 1, number, Answer::DELIVERED)]);
        let mut messages = doubted(DeliveryStatus::Pending);
        messages.expect_conclude().times(1).returning(|_| Ok(()));
        let providers = route(answering(vec![]), answering(vec![taken("r")]));
        assert_eq!(handle(Arc::new(messages), providers, log, number), Verdict::ack(), "attempt {number}");
    }
}

fn away() -> MockAttemptLog {
    let mut log = MockAttemptLog::new();
    log.expect_note().returning(|_| Err(down("note")));
    log
}

/// What the relay makes of the verdict on a message whose last attempt was put off for `last_error`.
fn after(
    last_error: Option<&Reason>,
    first: Vec<Result<Delivered, DeliveryError>>,
    second: Vec<Result<Delivered, DeliveryError>>,
    (n, log): (u32, Option<MockAttemptLog>),
) -> Verdict {
    let mut messages = MockMessageRepository::new();
    messages.expect_delivery_states().returning(|_| Ok(vec![DeliveryStatus::Pending.into()]));
    messages.expect_conclude().returning(|_| Ok(()));
    let providers = route(answering(first), answering(second));
    let mut handler = MessageHandler::new(Arc::new(messages), providers, config()).expect("settings");
    if let Some(log) = log {
        handler = handler.with_attempt_log(Arc::new(log));
    }
    let claimed = Claimed { last_error: last_error.cloned(), ..claimed_message(&notification(), n) };
    finish(handler.handle(&claimed)).keeping(&Doubt::in_reason(last_error))
}

fn may_have_it() -> Result<Delivered, DeliveryError> {
    Err(DeliveryError::unknown("HTTP 504"))
}

fn reason(verdict: Verdict) -> Reason {
    match verdict {
        Verdict::Nack { reason, .. } | Verdict::Bury { reason } => reason,
        other => panic!("without a reason: {other:?}"),
    }
}

/// Guard: an unlogged doubt is kept in the reason | src/outcome.rs `doubt`: `logged` is true
#[test]
fn a_doubt_that_is_in_no_log_is_in_the_reason_until_the_message_has_ended() {
    for log in [|| Some(away()), || None] {
        let marked = "may have been accepted by secondary; ";
        let one = reason(after(None, vec![busy()], vec![may_have_it()], (1, log())));
        assert_eq!(one.as_str(), format!("{marked}HTTP 504"));
        let two = reason(after(Some(&one), vec![], vec![busy()], (2, log())));
        assert_eq!(two.as_str(), format!("{marked}HTTP 503"), "it asks no other one");
        let three = reason(after(Some(&two), vec![], vec![may_have_it()], (3, log())));
        assert_eq!(three.as_str(), format!("{marked}HTTP 504"));
    }
}

#[test]
fn a_dead_letter_says_which_providers_may_have_accepted_it_unless_the_log_does() {
    let last = |log| reason(after(None, vec![may_have_it()], vec![], (11, Some(log)))).to_string();
    assert_eq!(last(away()), "may have been accepted by primary; HTTP 504");
    assert_eq!(last(logging(vec![("primary", 1, 11, Answer::LOST)])), "HTTP 504");
}

#[test]
fn a_delivery_that_nothing_could_note_goes_to_the_same_provider_again() {
    let mut messages = MockMessageRepository::new();
    messages.expect_delivery_states().returning(|_| Ok(vec![DeliveryStatus::Pending.into()]));
    messages.expect_conclude().returning(|_| Err(down("conclude")));
    let providers = route(answering(vec![busy()]), answering(vec![taken("r")]));
    let reason = reason(handle(Arc::new(messages), providers, away(), 1));
    assert!(reason.as_str().starts_with("may have been accepted by secondary; delivered, but"), "{reason}");
}

#[test]
fn a_message_in_doubt_stays_with_its_provider_after_a_revival() {
    let log = logging(vec![("secondary", 1, 1, Answer::DELIVERED)]);
    let mut messages = doubted(DeliveryStatus::Failed);
    messages.expect_reopen().times(1).returning(|_| Ok(Some(DeliveryStatus::Pending)));
    messages.expect_conclude().times(1).returning(|_| Ok(()));
    let providers = route(answering(vec![]), answering(vec![taken("r")]));
    assert_eq!(handle(Arc::new(messages), providers, log, 1), Verdict::ack(), "a revival counts from one");
}

#[test]
fn a_provider_may_ask_for_a_longer_wait_than_the_policys() {
    let asked = Err(DeliveryError::Throttled {
        reason: "HTTP 429".into(),
        retry_after: Some(Duration::from_secs(90)),
    });
    let providers = Providers::new().with(Channel::Email, answering(vec![asked]));
    assert_eq!(waits(&attempts(concluding(0, DeliveryStatus::Failed), providers, 1..=1)), [90]);
}
