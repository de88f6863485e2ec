//! Promise: an expired message is skipped before it reaches a provider

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_domain::{
    Jitter, Payload, Reason, RetryPolicy, Verdict,
    notification::{Acceptance, Channel, DeliveryStatus, FanOutEnd, NotificationMessage},
};
use claimstream_ports::{
    Handler, StoreError, StoreErrorKind,
    mock::{MockChannelProvider, MockMessageRepository},
    notification::{Delivered, DeliveryError, DeliveryState, MessageOutcome, MissingRecord},
};

use super::{
    super::{MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers},
    finish,
    fixture::{claimed, claimed_message, down, notification},
};

/// The message's record at one status, as often as it is asked for.
fn standing(status: Option<DeliveryStatus>) -> MockMessageRepository {
    restored_as(DeliveryStatus::Pending, status)
}

/// The same; a record that is missing is restored as this.
fn restored_as(restored: DeliveryStatus, status: Option<DeliveryStatus>) -> MockMessageRepository {
    let mut messages = MockMessageRepository::new();
    let state = messages.expect_delivery_states().withf(|ids| ids == [notification().id]);
    state.returning(move |_| Ok(vec![DeliveryState { status, in_doubt: vec![] }]));
    if status.is_none() {
        let is_ours = |missing: &MissingRecord| {
            let NotificationMessage { id, request_id, .. } = notification();
            let MissingRecord { record, end } = missing;
            (record.id, record.request_id, record.status) == (id, request_id, DeliveryStatus::Pending)
                && *end == FanOutEnd::Done
        };
        let restore = messages.expect_restore().times(1);
        let restore = restore.withf(move |missing| missing.iter().all(is_ours) && missing.len() == 1);
        restore.returning(move |_| Ok(vec![Some(restored)]));
    }
    messages
}

fn pending() -> MockMessageRepository {
    standing(Some(DeliveryStatus::Pending))
}

/// Expects this outcome to be noted once.
fn noting(mut messages: MockMessageRepository, expected: MessageOutcome) -> MockMessageRepository {
    let conclude = messages.expect_conclude().times(1);
    conclude.withf(move |outcomes| outcomes == [expected.clone()]).returning(|_| Ok(()));
    messages
}

fn delivered_as(reference: &str) -> MessageOutcome {
    let (status, reference) = (DeliveryStatus::Delivered, Some(reference.into()));
    MessageOutcome { id: notification().id, status, reason: None, reference }
}

fn failed_for(why: &str) -> MessageOutcome {
    let (status, reason) = (DeliveryStatus::Failed, Some(Reason::new(why)));
    MessageOutcome { id: notification().id, status, reason, reference: None }
}

/// Expects to be asked once, and answers.
fn provider(answer: Result<Delivered, DeliveryError>) -> Providers {
    let mut provider = MockChannelProvider::new();
    let ours = provider.expect_deliver().times(1).withf(|message| *message == notification());
    ours.returning(move |_| answer.clone());
    Providers::new().with(Channel::Email, Arc::new(provider))
}

/// Expects never to be asked.
pub(super) fn idle() -> Providers {
    Providers::new().with(Channel::Email, Arc::new(MockChannelProvider::new()))
}

fn accepting(reference: &str) -> Providers {
    provider(Ok(Delivered { reference: Some(reference.into()) }))
}

fn refusing() -> Providers {
    provider(Err(DeliveryError::Permanent { reason: "HTTP 400".into() }))
}

fn busy(retry_after: Option<Duration>) -> Providers {
    let (reason, acceptance) = ("HTTP 503".into(), Acceptance::NotAccepted);
    provider(Err(DeliveryError::Transient { reason, retry_after, acceptance }))
}

pub(super) fn handle(messages: MockMessageRepository, providers: Providers, attempt: u32) -> Verdict {
    let handler = MessageHandler::new(Arc::new(messages), providers, MessageConfig::default());
    finish(handler.expect("a good configuration").handle(&claimed_message(&notification(), attempt)))
}

#[test]
fn a_settled_message_is_never_delivered_again() {
    for status in [DeliveryStatus::Delivered, DeliveryStatus::Skipped, DeliveryStatus::Cancelled] {
        assert_eq!(handle(standing(Some(status)), idle(), 2), Verdict::ack());
    }
    let failed = handle(standing(Some(DeliveryStatus::Failed)), idle(), 12);
    assert!(matches!(failed, Verdict::Bury { .. }), "the dead letter of a failed message must exist");
}

#[test]
fn a_failed_message_was_revived_however_many_processes_died_over_it_and_is_delivered() {
    for attempt in [1, 2, 11] {
        let mut messages = noting(standing(Some(DeliveryStatus::Failed)), delivered_as("r-1"));
        let reopen = messages.expect_reopen().times(1).withf(|id| *id == notification().id);
        reopen.returning(|_| Ok(Some(DeliveryStatus::Pending)));
        assert_eq!(handle(messages, accepting("r-1"), attempt), Verdict::ack(), "attempt {attempt}");
    }
}

#[test]
fn a_revived_message_whose_request_was_cancelled_is_acked_unsent() {
    for attempt in [1, 2, 11] {
        let mut messages = standing(Some(DeliveryStatus::Failed));
        messages.expect_reopen().times(1).returning(|_| Ok(Some(DeliveryStatus::Cancelled)));
        assert_eq!(handle(messages, idle(), attempt), Verdict::ack(), "attempt {attempt}");
    }
}

#[test]
fn a_revived_message_that_cannot_be_reopened_is_given_back_unsent() {
    let mut messages = standing(Some(DeliveryStatus::Failed));
    messages.expect_reopen().returning(|_| Err(down("reopen")));
    assert_eq!(handle(messages, idle(), 11), Verdict::Release);
}

/// Guard: a missing record is restored before its message is delivered | src/message_handler.rs
/// `handle_batch`: no `restore`
#[test]
fn a_delivery_is_noted_and_acked_and_a_missing_record_is_restored_first() {
    assert_eq!(handle(noting(pending(), delivered_as("r-1")), accepting("r-1"), 1), Verdict::ack());
    assert_eq!(handle(noting(standing(None), delivered_as("r-1")), accepting("r-1"), 1), Verdict::ack());
}

/// Guard: a restored message is not delivered if its request was cancelled | src/message_handler/restoring.rs
/// `restore`: the answers are not taken
#[test]
fn a_message_without_a_record_is_not_delivered_if_its_request_was_cancelled() {
    for over in [DeliveryStatus::Cancelled, DeliveryStatus::Delivered] {
        assert_eq!(handle(restored_as(over, None), idle(), 1), Verdict::ack());
    }
}

#[test]
fn a_long_reference_is_cut_at_a_character() {
    let kept = "ü".repeat(127);
    assert_eq!(
        handle(noting(pending(), delivered_as(&kept)), accepting(&"ü".repeat(200)), 1),
        Verdict::ack()
    );
}

#[test]
fn what_is_refused_for_good_is_noted_as_failed_and_buried() {
    let verdict = handle(noting(pending(), failed_for("HTTP 400")), refusing(), 1);
    assert_eq!(verdict, Verdict::bury("HTTP 400"));
}

#[test]
fn a_channel_without_a_provider_fails_by_name() {
    let mut messages = pending();
    messages.expect_conclude().times(1).returning(|outcomes| {
        assert_eq!(outcomes[0].status, DeliveryStatus::Failed);
        Ok(())
    });
    let Verdict::Bury { reason } = handle(messages, Providers::new(), 1) else { panic!("not buried") };
    assert!(reason.as_str().contains("no provider is set for the channel email"), "{reason}");
}

#[test]
fn a_provider_that_asks_for_less_than_the_policy_does_not_use_up_the_attempts() {
    let policy = RetryPolicy { jitter: Jitter::None, ..MessageConfig::default().retry };
    let config = MessageConfig { retry: policy.clone() };
    let providers = busy(Some(Duration::from_secs(1)));
    let handler = MessageHandler::new(Arc::new(pending()), providers, config).expect("a good configuration");
    let verdict = finish(handler.handle(&claimed_message(&notification(), 4)));
    assert_eq!(verdict, Verdict::Nack { after: Some(policy.delay(4, 0)), reason: Reason::new("HTTP 503") });
}

#[test]
fn what_fails_for_now_comes_again_after_the_providers_own_delay() {
    let after = Some(Duration::from_secs(77));
    let nack = |after| Verdict::Nack { after, reason: Reason::new("HTTP 503") };
    assert_eq!(handle(pending(), busy(after), 1), nack(after));
    assert_eq!(handle(pending(), busy(None), 10), nack(None));
}

#[test]
fn the_eleventh_failure_is_noted_as_failed_and_buried() {
    let verdict = handle(noting(pending(), failed_for("HTTP 503")), busy(None), 11);
    assert_eq!(verdict, Verdict::bury("HTTP 503"));
    let not_ready =
        |reason: &str| provider(Err(DeliveryError::NotReady { reason: reason.into(), retry_after: None }));
    let reason = "the attachment \"a.pdf\": HTTP 404";
    let verdict = handle(noting(pending(), failed_for(reason)), not_ready(reason), 11);
    assert_eq!(verdict, Verdict::bury(reason), "also if the provider was never asked");
}

#[test]
fn a_last_attempt_that_was_cut_off_is_noted_as_failed_and_buried_without_another_one() {
    let why = "the last attempt never ended; whether it delivered is unknown";
    assert_eq!(handle(noting(pending(), failed_for(why)), idle(), 12), Verdict::bury(why));
    assert_eq!(handle(standing(Some(DeliveryStatus::Delivered)), idle(), 12), Verdict::ack());
    assert_eq!(MessageConfig::default().pipeline_retry().max_attempts, 12);
}

#[test]
fn a_delivery_that_cannot_be_noted_comes_again_and_is_never_noted_as_failed() {
    let unnoted = |attempt| {
        let mut messages = pending();
        let conclude = messages.expect_conclude().times(1);
        conclude.withf(|outcomes| outcomes[0].status == DeliveryStatus::Delivered);
        conclude.returning(|_| Err(down("conclude")));
        handle(messages, accepting("r-1"), attempt)
    };
    assert!(matches!(unnoted(1), Verdict::Nack { after: None, .. }));
    let Verdict::Nack { after: None, reason } = unnoted(11) else { panic!("not left to the spare attempt") };
    assert!(reason.as_str().starts_with("may have been accepted by email-1; delivered, but"), "{reason}");
}

#[test]
fn a_failure_that_cannot_be_noted_leaves_the_message_to_the_spare_attempt() {
    let unnoted = |providers, attempt| {
        let mut messages = pending();
        messages.expect_conclude().times(1).returning(|_| Err(down("conclude")));
        handle(messages, providers, attempt)
    };
    assert!(matches!(unnoted(busy(None), 11), Verdict::Nack { after: None, .. }));
    assert!(matches!(unnoted(refusing(), 11), Verdict::Nack { after: None, .. }));
    assert!(matches!(unnoted(idle(), 12), Verdict::Bury { .. }), "there is no attempt after the spare one");
}

#[test]
fn the_spare_attempt_tells_what_the_last_one_said() {
    let why = "the last attempt never ended or could not be noted; last answer: HTTP 503";
    let handler =
        MessageHandler::new(Arc::new(noting(pending(), failed_for(why))), idle(), MessageConfig::default());
    let mut claimed = claimed_message(&notification(), 12);
    claimed.last_error = Some(Reason::new("HTTP 503"));
    let verdict = finish(handler.expect("a good configuration").handle(&claimed));
    assert_eq!(verdict, Verdict::bury(why));
}

#[test]
fn a_refusal_that_cannot_be_noted_comes_again() {
    let mut messages = pending();
    messages.expect_conclude().times(1).returning(|_| Err(down("conclude")));
    assert!(matches!(handle(messages, refusing(), 1), Verdict::Nack { after: None, .. }));
}

#[test]
fn while_records_cannot_be_read_messages_are_given_back_unsent() {
    for attempt in [1, 11, 12] {
        let mut messages = MockMessageRepository::new();
        messages.expect_delivery_states().returning(|_| Err(down("status")));
        assert_eq!(handle(messages, idle(), attempt), Verdict::Release, "attempt {attempt}");
    }
}

#[test]
fn a_record_that_is_not_what_it_must_be_puts_the_message_off_unsent() {
    let mut messages = MockMessageRepository::new();
    messages
        .expect_delivery_states()
        .returning(|_| Err(StoreError::new(StoreErrorKind::Corrupt, "status", "an unknown status")));
    assert!(matches!(handle(messages, idle(), 1), Verdict::Nack { after: None, .. }));
}

#[test]
fn a_payload_that_is_no_message_is_buried() {
    let handler =
        MessageHandler::new(Arc::new(MockMessageRepository::new()), idle(), MessageConfig::default())
            .unwrap();
    let claimed = claimed(MESSAGE_QUEUE, Payload::json("{}"), 1);
    assert!(matches!(finish(handler.handle(&claimed)), Verdict::Bury { .. }));
}

#[test]
fn the_delays_double_from_thirty_seconds_to_five_hours() {
    let retry = RetryPolicy { jitter: Jitter::None, ..MessageConfig::default().retry };
    let delays: Vec<_> = (1..=11).map(|attempt| retry.delay(attempt, 0).as_secs()).collect();
    assert_eq!(delays, [30, 60, 120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360, 18_000]);
    assert!(!retry.is_last(10) && retry.is_last(11));
    assert_eq!(MessageConfig::default().retry.jitter, Jitter::Full);
}

#[test]
fn a_message_that_comes_after_its_expiry_is_skipped_before_a_provider_has_it() {
    let moment = "2026-01-01T00:00:00Z".parse().expect("a moment");
    let until = Duration::from_secs(1_767_225_600);
    let message = NotificationMessage { expires_at: Some(moment), ..notification() };
    let handle = |expired: Result<bool, StoreError>, attempt: u32| {
        let deliveries = usize::from(matches!(expired, Ok(false)));
        let mut messages = pending();
        messages.expect_since_1970().times(1).returning(move || match &expired {
            Ok(expired) => Ok(until + Duration::from_micros(u64::from(*expired))),
            Err(_) => Err(down("expired")),
        });
        let skipped = Arc::new(Mutex::new(Vec::new()));
        let noted = skipped.clone();
        messages.expect_conclude().returning(move |outcomes| {
            noted.lock().expect("no panic").extend(outcomes.iter().map(|o| (o.status, o.reason.clone())));
            Ok(())
        });
        let mut provider = MockChannelProvider::new();
        provider.expect_deliver().times(deliveries).returning(|_| Ok(Delivered::default()));
        let providers = Providers::new().with(message.channel, Arc::new(provider));
        let handler = MessageHandler::new(Arc::new(messages), providers, MessageConfig::default());
        let claimed = claimed_message(&message, attempt);
        let verdict = finish(handler.expect("a good configuration").handle(&claimed));
        let skipped = skipped.lock().expect("no panic").clone();
        (verdict, skipped)
    };
    let skipped = vec![(DeliveryStatus::Skipped, Some(Reason::new("expired")))];
    for attempt in [1, 12] {
        assert_eq!(handle(Ok(true), attempt), (Verdict::ack(), skipped.clone()));
    }
    assert_eq!(handle(Ok(false), 1), (Verdict::ack(), vec![(DeliveryStatus::Delivered, None)]));
    assert_eq!(handle(Err(down("expired")), 1), (Verdict::Release, vec![]));
}

/// Guard: a revived message expires | src/message_handler.rs `take_up`: delivers at any time
#[test]
fn a_revived_message_that_comes_after_its_expiry_is_skipped_too() {
    let late = NotificationMessage {
        expires_at: Some("2026-01-01T00:00:00Z".parse().expect("a moment")),
        ..notification()
    };
    let mut messages = standing(Some(DeliveryStatus::Failed));
    messages.expect_since_1970().returning(|| Ok(Duration::from_secs(4_000_000_000)));
    messages.expect_reopen().times(1).returning(|_| Ok(Some(DeliveryStatus::Pending)));
    messages.expect_conclude().times(1).returning(|outcomes| {
        assert_eq!(outcomes[0].status, DeliveryStatus::Skipped);
        Ok(())
    });
    let handler = MessageHandler::new(Arc::new(messages), idle(), MessageConfig::default());
    let handler = handler.expect("a good configuration");
    assert_eq!(finish(handler.handle(&claimed_message(&late, 1))), Verdict::ack());
}
