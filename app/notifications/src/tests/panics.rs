//! Providers and directories that panic over one message of a batch.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use claimstream_domain::{
    Verdict,
    notification::{DeliveryStatus, NotificationMessage, SegmentPlace},
};
use claimstream_ports::{
    StoreError,
    notification::{
        ChannelProvider, Delivered, DeliveryError, FoundUsers, MessageOutcome, RecipientDirectory,
        SegmentPage,
    },
};
use uuid::Uuid;

use super::{
    super::MessageConfig,
    batches::{
        claimed_messages, claimed_steps, delivery, dispatched, fan_out_to, handled, pending, reading, sent,
    },
    fixture::{claimed_message, reachable},
};

/// A provider that panics over the second message, and notes all that it is asked to deliver.
#[derive(Default)]
struct Panicking(Mutex<Vec<Uuid>>);

#[async_trait]
impl ChannelProvider for Panicking {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        self.0.lock().expect("no panic elsewhere").push(message.id);
        assert_ne!(message.id, Uuid::from_u128(2), "not this one");
        Ok(Delivered::default())
    }
}

#[test]
fn a_provider_that_panics_puts_off_its_own_message_only() {
    let mut messages = pending();
    messages.expect_conclude().times(1).withf(|all| all.len() == 2).returning(|_| Ok(()));
    let provider = Arc::new(Panicking::default());
    let verdicts = handled(&delivery(messages, provider.clone()), &claimed_messages());
    assert_eq!((&verdicts[0], &verdicts[2]), (&Verdict::ack(), &Verdict::ack()));
    let Verdict::Nack { after: None, reason } = &verdicts[1] else { panic!("{:?}", verdicts[1]) };
    assert!(reason.to_string().starts_with("may have been accepted by email-1; panicked: "), "{reason}");
    assert_eq!(provider.0.lock().expect("no panic elsewhere").len(), 3, "each was delivered once");
}

#[test]
fn a_message_whose_provider_panics_at_the_last_attempt_is_noted_as_failed() {
    let mut messages = pending();
    let failed =
        |all: &[MessageOutcome]| all.len() == 3 && all.iter().any(|one| one.status == DeliveryStatus::Failed);
    messages.expect_conclude().times(1).withf(failed).returning(|_| Ok(()));
    let last = MessageConfig::default().retry.max_attempts;
    let batch = super::batches::messages().map(|message| claimed_message(&message, last));
    let verdicts = handled(&delivery(messages, Arc::new(Panicking::default())), &batch);
    assert!(matches!(verdicts[1], Verdict::Bury { .. }));
}

/// A directory that panics over the second user.
struct Broken;

#[async_trait]
impl RecipientDirectory for Broken {
    async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError> {
        assert_ne!(ids, ["b"], "not this one");
        Ok(vec![Some(reachable("a")); ids.len()].into())
    }

    async fn members(&self, _: &str, _: &SegmentPlace, _: u32) -> Result<Option<SegmentPage>, StoreError> {
        Ok(None)
    }
}

#[test]
fn a_directory_that_panics_puts_off_the_request_that_asks_it_and_no_other() {
    let mut requests = reading(1);
    let note = requests.expect_note_steps().times(1).withf(|steps| steps.len() == 2);
    note.returning(|steps| Ok(dispatched(steps)));
    let verdicts = handled(&fan_out_to(requests, Broken), &claimed_steps());
    assert_eq!((sent(&verdicts[0]), sent(&verdicts[2])), (1, 1));
    let Verdict::Nack { after: None, reason } = &verdicts[1] else { panic!("{:?}", verdicts[1]) };
    assert!(reason.to_string().starts_with("panicked: "), "{reason}");
}
