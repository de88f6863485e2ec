//! Several messages in one batch: what they share, and that none of them suffers for another.
//! Promise: a request or message that fails or panics costs the others of its batch nothing; a slow delivery
//! uses one slot of `at_once`, and a time limit cuts off only the delivery that hangs

use std::{
    pin::pin,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Payload, Verdict,
    notification::{
        Channel, DeliveryStatus, FanOut, FanOutEnd, NotificationMessage, NotificationRequest, Recipient,
        RequestStatus, message_id,
    },
};
use claimstream_ports::{
    BatchHandler, StoreError, StoreErrorKind, Verdicts,
    mock::{
        MockChannelProvider, MockMessageRepository, MockRecipientDirectory, MockRequestRepository,
        MockTemplateSource,
    },
    notification::{
        ChannelProvider, Delivered, DeliveryError, FanOutStep, MessageRepository, RecipientDirectory,
        RequestRead, StepNoted,
    },
};
use futures::channel::oneshot;
use uuid::Uuid;

use super::{
    super::{MessageConfig, MessageHandler, Providers, RequestConfig, RequestHandler},
    finish,
    fixture::{claimed, claimed_message, claimed_step, down, notification, reachable, request, user},
    step,
};

/// The verdicts on three messages.
#[derive(Default)]
struct Given(Mutex<[Option<Verdict>; 3]>);

impl Given {
    fn all(&self) -> [Option<Verdict>; 3] {
        self.0.lock().expect("no panic elsewhere").clone()
    }
}

impl Verdicts for Given {
    fn give(&self, index: usize, verdict: Verdict) {
        let before = self.0.lock().expect("no panic elsewhere")[index].replace(verdict);
        assert_eq!(before, None, "two verdicts on one message");
    }
}

pub(super) fn handled(handler: &dyn BatchHandler, batch: &[Claimed]) -> [Verdict; 3] {
    let given = Given::default();
    finish(handler.handle_batch(batch, &given));
    given.all().map(|verdict| verdict.expect("a verdict on each"))
}

/// Three messages of which the last has the id 3.
pub(super) fn messages() -> [NotificationMessage; 3] {
    [1, 2, 3].map(|n| NotificationMessage { id: Uuid::from_u128(n), ..notification() })
}

pub(super) fn claimed_messages() -> [Claimed; 3] {
    messages().map(|message| claimed_message(&message, 1))
}

pub(super) fn pending() -> MockMessageRepository {
    let mut messages = MockMessageRepository::new();
    let states = messages.expect_delivery_states().times(1);
    states.returning(|ids| Ok(vec![DeliveryStatus::Pending.into(); ids.len()]));
    messages
}

fn accepting() -> Arc<MockChannelProvider> {
    let mut provider = MockChannelProvider::new();
    provider.expect_deliver().returning(|_| Ok(Delivered::default()));
    Arc::new(provider)
}

pub(super) fn delivery(
    messages: impl MessageRepository + 'static,
    provider: Arc<dyn ChannelProvider>,
) -> MessageHandler {
    let providers = Providers::new().with(Channel::Email, provider);
    MessageHandler::new(Arc::new(messages), providers, MessageConfig::default())
        .expect("a good configuration")
}

fn corrupt() -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "note", "too long")
}

#[test]
fn the_messages_of_a_batch_are_read_and_noted_together() {
    let mut messages = pending();
    messages.expect_conclude().times(1).withf(|all| all.len() == 3).returning(|_| Ok(()));
    let verdicts = handled(&delivery(messages, accepting()), &claimed_messages());
    assert_eq!(verdicts, [Verdict::ack(), Verdict::ack(), Verdict::ack()]);
}

#[test]
fn a_payload_that_is_no_message_is_buried_and_the_others_are_delivered() {
    let mut messages = pending();
    messages.expect_conclude().times(1).withf(|all| all.len() == 2).returning(|_| Ok(()));
    let mut batch = claimed_messages();
    batch[1] = claimed("notification-messages", Payload::json("{}"), 1);
    let verdicts = handled(&delivery(messages, accepting()), &batch);
    assert_eq!((&verdicts[0], &verdicts[2]), (&Verdict::ack(), &Verdict::ack()));
    assert!(matches!(verdicts[1], Verdict::Bury { .. }));
}

#[test]
fn a_record_that_cannot_be_read_puts_off_its_own_message_only() {
    let mut messages = MockMessageRepository::new();
    messages.expect_delivery_states().times(4).returning(|ids| match ids.contains(&Uuid::from_u128(2)) {
        true => Err(corrupt()),
        false => Ok(vec![DeliveryStatus::Pending.into()]),
    });
    messages.expect_conclude().returning(|_| Ok(()));
    let verdicts = handled(&delivery(messages, accepting()), &claimed_messages());
    assert_eq!((&verdicts[0], &verdicts[2]), (&Verdict::ack(), &Verdict::ack()));
    assert!(matches!(verdicts[1], Verdict::Nack { after: None, .. }));
}

#[test]
fn while_the_store_is_away_it_is_asked_once_for_a_batch() {
    let mut messages = MockMessageRepository::new();
    messages.expect_delivery_states().times(1).returning(|_| Err(down("status")));
    let verdicts = handled(&delivery(messages, accepting()), &claimed_messages());
    assert_eq!(verdicts, [Verdict::Release, Verdict::Release, Verdict::Release]);
    let mut messages = pending();
    messages.expect_conclude().times(1).returning(|_| Err(down("conclude")));
    let verdicts = handled(&delivery(messages, accepting()), &claimed_messages());
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Nack { after: None, .. })));
}

#[test]
fn an_outcome_that_cannot_be_noted_is_the_business_of_its_own_message() {
    let mut messages = pending();
    messages.expect_conclude().times(4).returning(|outcomes| {
        match outcomes.iter().any(|outcome| outcome.id == Uuid::from_u128(2)) {
            true => Err(corrupt()),
            false => Ok(()),
        }
    });
    let verdicts = handled(&delivery(messages, accepting()), &claimed_messages());
    assert_eq!((&verdicts[0], &verdicts[2]), (&Verdict::ack(), &Verdict::ack()));
    assert!(matches!(verdicts[1], Verdict::Nack { after: None, .. }));
}

/// A provider that does not answer for the first message until it is let go.
struct Slow(Mutex<Option<oneshot::Receiver<()>>>);

#[async_trait]
impl ChannelProvider for Slow {
    async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError> {
        let wait = match message.id == Uuid::from_u128(1) {
            true => self.0.lock().expect("no panic elsewhere").take(),
            false => None,
        };
        if let Some(wait) = wait {
            let _ = wait.await;
        }
        Ok(Delivered::default())
    }
}

#[test]
fn a_slow_provider_holds_up_its_own_message_only() {
    let mut messages = pending();
    messages.expect_conclude().times(1).withf(|all| all.len() == 2).returning(|_| Ok(()));
    messages.expect_conclude().times(1).withf(|all| all.len() == 1).returning(|_| Ok(()));
    let (go, gone) = oneshot::channel();
    let handler = delivery(messages, Arc::new(Slow(Mutex::new(Some(gone)))));
    let (batch, given) = (claimed_messages(), Given::default());
    let mut running = pin!(handler.handle_batch(&batch, &given));
    assert_eq!(step(running.as_mut()), None);
    assert_eq!(given.all(), [None, Some(Verdict::ack()), Some(Verdict::ack())]);
    go.send(()).expect("it waits");
    assert_eq!(step(running.as_mut()), Some(()));
    assert_eq!(given.all()[0], Some(Verdict::ack()));
}

/// Three requests to one user each, of which the directory knows two.
fn requests() -> [NotificationRequest; 3] {
    let to = |n, who| NotificationRequest {
        id: Uuid::from_u128(n),
        ..request(&[Channel::Email], vec![user(who)])
    };
    [to(1, "a"), to(2, "b"), to(3, "c")]
}

pub(super) fn claimed_steps() -> [Claimed; 3] {
    requests().map(|request| claimed_step(FanOut::begin(request.id), 1))
}

pub(super) fn reading(times: usize) -> MockRequestRepository {
    let mut repository = MockRequestRepository::new();
    repository.expect_read().times(times).returning(|ids| {
        let all = requests();
        let found = |id: &Uuid| all.iter().find(|request| request.id == *id).cloned();
        let read = |request| RequestRead { request, status: RequestStatus::Pending };
        Ok(ids.iter().map(|id| found(id).map(read)).collect())
    });
    repository
}

fn fan_out(requests: MockRequestRepository) -> RequestHandler {
    let mut directory = MockRecipientDirectory::new();
    let known = |id: &String| (id == "a" || id == "b").then(|| reachable(id));
    directory.expect_users().returning(move |ids| Ok(ids.iter().map(known).collect::<Vec<_>>().into()));
    fan_out_to(requests, directory)
}

pub(super) fn fan_out_to(
    requests: MockRequestRepository,
    directory: impl RecipientDirectory + 'static,
) -> RequestHandler {
    let (messages, templates) = (Arc::new(MockMessageRepository::new()), Arc::new(MockTemplateSource::new()));
    let config = RequestConfig::default();
    RequestHandler::new(Arc::new(requests), messages, Arc::new(directory), templates, config)
        .expect("a good configuration")
}

pub(super) fn dispatched(steps: &[FanOutStep]) -> Vec<StepNoted> {
    let noted = |step: &FanOutStep| {
        assert_eq!(step.end, FanOutEnd::Done);
        let records = step.records.iter().map(|record| record.status).collect();
        StepNoted { status: Some(RequestStatus::Dispatched), records, outdated: false }
    };
    steps.iter().map(noted).collect()
}

pub(super) fn sent(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Ack { emit } => emit.len(),
        other => panic!("not an ack: {other:?}"),
    }
}

#[test]
fn the_requests_of_a_batch_are_read_and_noted_together() {
    let mut requests = reading(1);
    let note = requests.expect_note_steps().times(1).withf(|steps| steps.len() == 3);
    note.returning(|steps| Ok(dispatched(steps)));
    let verdicts = handled(&fan_out(requests), &claimed_steps());
    assert_eq!(verdicts.each_ref().map(sent), [1, 1, 0]);
}

#[test]
fn a_request_that_cannot_be_read_is_put_off_and_the_others_are_sent() {
    let mut requests = MockRequestRepository::new();
    requests.expect_read().times(1).withf(|ids| ids.len() == 3).returning(|_| Err(corrupt()));
    requests.expect_read().times(1).withf(|ids| ids == [Uuid::from_u128(2)]).returning(|_| Err(corrupt()));
    requests.expect_read().times(2).returning(|ids| {
        let request = self::requests().into_iter().find(|request| request.id == ids[0]);
        Ok(vec![request.map(|request| RequestRead { request, status: RequestStatus::Pending })])
    });
    requests.expect_note_steps().returning(|steps| Ok(dispatched(steps)));
    let verdicts = handled(&fan_out(requests), &claimed_steps());
    assert_eq!((sent(&verdicts[0]), sent(&verdicts[2])), (1, 0));
    assert!(matches!(verdicts[1], Verdict::Nack { after: None, .. }));
}

#[test]
fn a_step_that_cannot_be_noted_costs_only_itself() {
    let mut requests = reading(1);
    requests.expect_note_steps().times(4).returning(|steps| {
        match steps.iter().any(|step| step.request == Uuid::from_u128(2)) {
            true => Err(corrupt()),
            false => Ok(dispatched(steps)),
        }
    });
    let verdicts = handled(&fan_out(requests), &claimed_steps());
    assert_eq!((sent(&verdicts[0]), sent(&verdicts[2])), (1, 0));
    assert!(matches!(verdicts[1], Verdict::Nack { after: None, .. }));
}

#[test]
fn while_the_store_is_away_requests_ask_it_once_for_a_batch() {
    let mut requests = MockRequestRepository::new();
    requests.expect_read().times(1).returning(|_| Err(down("read")));
    assert_eq!(
        handled(&fan_out(requests), &claimed_steps()),
        [Verdict::Release, Verdict::Release, Verdict::Release]
    );
    let mut requests = reading(1);
    requests.expect_note_steps().times(1).returning(|_| Err(down("note")));
    let verdicts = handled(&fan_out(requests), &claimed_steps());
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Nack { after: None, .. })));
}

/// The directory has forgotten all three since an earlier attempt recorded them as pending.
#[test]
fn a_lapsed_record_that_cannot_be_settled_costs_only_its_own_request() {
    let mut requests = reading(1);
    requests.expect_note_steps().times(1).returning(|steps| {
        let pending = |step: &FanOutStep| vec![DeliveryStatus::Pending; step.records.len()];
        let noted = |step| StepNoted {
            status: Some(RequestStatus::Dispatched),
            records: pending(step),
            outdated: false,
        };
        Ok(steps.iter().map(noted).collect())
    });
    let mut directory = MockRecipientDirectory::new();
    directory.expect_users().returning(|ids| Ok(vec![None; ids.len()].into()));
    let mut messages = MockMessageRepository::new();
    let of_second = message_id(Uuid::from_u128(2), Channel::Email, &Recipient::user("b").key);
    messages.expect_conclude().returning(move |outcomes| {
        match outcomes.iter().any(|outcome| outcome.id == of_second) {
            true => Err(corrupt()),
            false => Ok(()),
        }
    });
    let handler = RequestHandler::new(
        Arc::new(requests),
        Arc::new(messages),
        Arc::new(directory),
        Arc::new(MockTemplateSource::new()),
        RequestConfig::default(),
    );
    let verdicts = handled(&handler.expect("a good configuration"), &claimed_steps());
    assert_eq!((sent(&verdicts[0]), sent(&verdicts[2])), (0, 0));
    assert!(matches!(verdicts[1], Verdict::Nack { after: None, .. }));
}
