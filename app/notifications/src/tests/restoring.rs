use std::sync::Arc;

use claimstream_domain::{
    Verdict,
    notification::{DeliveryStatus, FanOutEnd, delivery_message_of},
};
use claimstream_ports::{
    Handler, StoreError, StoreErrorKind,
    mock::MockMessageRepository,
    notification::{DeliveryState, MissingRecord},
};

use super::{
    super::{MessageConfig, MessageHandler},
    finish,
    fixture::{claimed_message, down, notification},
    messages::{handle, idle},
};

/// Guard: a message whose record cannot be restored is not delivered | src/message_handler/restoring.rs
/// `restore`: after an error all records are taken for unknown
#[test]
fn a_message_whose_record_cannot_be_restored_is_not_delivered() {
    let failing = |error: fn() -> StoreError| {
        let mut messages = MockMessageRepository::new();
        messages.expect_delivery_states().returning(|_| Ok(vec![DeliveryState::default()]));
        messages.expect_restore().times(1).returning(move |_| Err(error()));
        messages
    };
    assert_eq!(handle(failing(|| down("restore")), idle(), 1), Verdict::Release);
    let unreadable = || StoreError::new(StoreErrorKind::Corrupt, "request", "what is this");
    assert!(matches!(handle(failing(unreadable), idle(), 1), Verdict::Nack { .. }));
    let mut last = failing(unreadable);
    last.expect_conclude().times(1).returning(|_| Ok(()));
    let buried = handle(last, idle(), 11);
    assert!(
        matches!(&buried, Verdict::Bury { reason } if reason.as_str().contains("what is this")),
        "{buried:?}"
    );
}

/// Guard: a message of an early step does not end its request | src/message_handler/restoring.rs
/// `missing_record`: every message is of the last step
#[test]
fn a_message_says_of_its_missing_record_that_more_steps_followed() {
    let mut messages = MockMessageRepository::new();
    messages.expect_delivery_states().returning(|_| Ok(vec![DeliveryState::default()]));
    let says_more = |missing: &[MissingRecord]| missing.iter().all(|one| one.end == FanOutEnd::More);
    let restore = messages.expect_restore().times(1).withf(says_more);
    restore.returning(|_| Ok(vec![Some(DeliveryStatus::Cancelled)]));
    let handler = MessageHandler::new(Arc::new(messages), idle(), MessageConfig::default()).expect("good");
    let mut claimed = claimed_message(&notification(), 1);
    let made = delivery_message_of(&notification(), &FanOutEnd::More).expect("a message");
    claimed.message.payload = made.payload;
    assert_eq!(finish(handler.handle(&claimed)), Verdict::ack());
}
