//! What a failover has left that spans several transactions, played by deleting what it would have lost.
//! Promise: what a failover left unfinished is found and queued again, once; what is in progress is left
//! alone, and what a repair leaves is named

use std::time::Duration;

use claimstream_domain::{
    Message, MessageId, NewMessage, Payload, QueueName, Retention,
    notification::{
        Answer, Channel, DeliveryReceipt, DeliveryStatus, FanOut, FanOutEnd, MESSAGE_QUEUE,
        NotificationMessage, NotificationRecord, NotificationRequest, REQUEST_QUEUE, ReceiptKind, ReceiptOf,
        Recipient, RecipientReference,
        consent::Category,
        digest::{DigestItem, NewDigestItem},
        message_id,
        provider::ProviderName,
    },
};
use claimstream_ports::notification::{
    AttemptLog, Cancelled, CancelledMessages, DeliveryAttempt, DeliveryReceipts, FanOutStep,
    MessageRepository, RequestRepository,
};
use claimstream_sea_orm::{FailoverRemains, FailoverRepair};
use uuid::Uuid;

use super::{Place, Setup, hex, notifications::dispatched};
use crate::{Instance, Ports, Suite, fixture::mail_to};

/// What has not changed for so long is under way no more.
pub(super) const QUIET: Duration = Duration::from_secs(120);

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let keep = Retention::default();
    // Guard: a repair looks once more for steps that are queued |
    // adapters/sea-orm/src/notifications/remains.rs `fan_out_again`: `under_way` is empty
    place.add(suite, "auto", keep, "a_request_that_lost_its_message_is_fanned_out_again", request_is_found);
    place.add(
        suite,
        "auto",
        keep,
        "a_notification_that_lost_its_place_in_the_queue_is_queued_again",
        message_is_found,
    );
    place.add(
        suite,
        "auto",
        keep,
        // Guard: a request that is open can be repaired | adapters/sea-orm/src/notifications/remains.rs
        // `find`: what is not dispatched is beyond repair
        "a_notification_that_lost_its_message_has_its_request_fanned_out_again",
        bare_is_found,
    );
    place.add(
        suite,
        "auto",
        keep,
        // Guard: a provider's attempt proves the delivery | adapters/sea-orm/src/notifications/remains.rs
        // `had_by_providers`: none
        "a_notification_that_a_provider_has_is_noted_as_delivered_and_not_sent_again",
        delivered_is_noted,
    );
    place.add(
        suite,
        "auto",
        keep,
        // Guard: an item leaves a digest whose message is lost |
        // adapters/sea-orm/src/notifications/remains.rs `take_up`: no `digests.forget`
        "a_notification_in_a_digest_that_lost_its_message_goes_by_itself",
        lost_digest_is_taken_apart,
    );
    place.add(
        suite,
        "auto",
        keep,
        // Guard: an unreadable request stops no repair | adapters/sea-orm/src/notifications/remains.rs
        // `readable`: the error ends it
        // Guard: an unreadable request is cancelled | adapters/sea-orm/src/notifications/cancelling.rs
        // `remove_from_outbox`: an error
        "a_request_that_cannot_be_read_keeps_no_other_from_its_repair",
        unreadable_is_left,
    );
    place.add(
        suite,
        "auto",
        keep,
        "what_a_relay_or_an_operator_still_ends_is_not_taken_for_left",
        others_are_left_alone,
    );
}

async fn request_is_found(setup: Setup) {
    for loses_its_body in [false, true] {
        let request = submit(&setup).await;
        setup.execute("DELETE FROM claimstream_queue").await;
        if loses_its_body {
            setup.execute("DELETE FROM claimstream_message").await;
        }
        assert_eq!(find(&setup).await, FailoverRemains::default(), "it has just changed");
        setup.clock.advance(QUIET + Setup::MOMENT);
        let found = find(&setup).await;
        assert_eq!(found, FailoverRemains { requests: vec![request.id], ..FailoverRemains::default() });
        assert_eq!(repair(&setup, &found).await, [1, 0], "and no second time");
        assert_eq!(steps_of(&setup).await, [request.id]);
        setup.execute("DELETE FROM claimstream_notification_request").await;
    }
}

async fn message_is_found(setup: Setup) {
    let (request, records) = dispatched(&setup, 2).await;
    let ids = [records[0].id, records[1].id];
    setup.outbox.enqueue_now(&ids.map(|id| of_queue(id, MESSAGE_QUEUE))).await.expect("enqueue");
    setup
        .execute(&format!("DELETE FROM claimstream_queue WHERE id IN ({}, {})", hex(ids[0]), hex(request.id)))
        .await;
    setup.clock.advance(QUIET + Setup::MOMENT);
    let found = find(&setup).await;
    assert_eq!(found, FailoverRemains { messages: vec![ids[0]], ..FailoverRemains::default() });
    assert_eq!(repair(&setup, &found).await, [1, 0]);
    let mut both = ids.to_vec();
    both.sort();
    assert_eq!(taken(&setup, MESSAGE_QUEUE).await, both);
}

async fn bare_is_found(setup: Setup) {
    let (request, records) = dispatched(&setup, 1).await;
    setup.execute("DELETE FROM claimstream_queue").await;
    setup.clock.advance(QUIET + Setup::MOMENT);
    let found = find(&setup).await;
    assert_eq!(found, FailoverRemains { requests: vec![request.id], ..FailoverRemains::default() });
    assert_eq!(repair(&setup, &found).await, [1, 0]);
    setup.execute("DELETE FROM claimstream_queue").await;
    setup.execute("UPDATE claimstream_notification_request SET status = 'PENDING'").await;
    note(&setup, request.id, FanOutEnd::More).await;
    assert_eq!(find(&setup).await, FailoverRemains::default(), "its request has moved on a moment ago");
    setup.execute("UPDATE claimstream_notification_request SET status = 'FAILED'").await;
    let beyond = FailoverRemains { beyond_repair: vec![records[0].id], ..FailoverRemains::default() };
    assert_eq!(find(&setup).await, beyond, "an operator revives what has failed, or hands it in again");
}

/// Of one the log of attempts says so, of one a receipt, and of one only that it was tried.
async fn delivered_is_noted(setup: Setup) {
    let (_, records) = dispatched(&setup, 3).await;
    let mut ids = [records[0].id, records[1].id, records[2].id];
    ids.sort();
    setup.outbox.enqueue_now(&ids.map(|id| of_queue(id, MESSAGE_QUEUE))).await.expect("enqueue");
    let logged = [attempt(ids[0], Answer::DELIVERED), attempt(ids[2], Answer::LATER)];
    AttemptLog::note(&setup.outbox, &logged).await.expect("attempts");
    let receipt = DeliveryReceipt {
        provider: ProviderName::new("primary").expect("a name"),
        of: ReceiptOf::Message(ids[1]),
        kind: ReceiptKind::Opened,
        channel: None,
        address: None,
        said_at: None,
        note: None,
    };
    setup.outbox.take(&[receipt]).await.expect("a receipt");
    setup.execute("DELETE FROM claimstream_queue").await;
    setup.execute(&format!("DELETE FROM claimstream_message WHERE id = {}", hex(ids[0]))).await;
    setup.clock.advance(QUIET + Setup::MOMENT);
    let found = find(&setup).await;
    let expected = FailoverRemains {
        messages: vec![ids[2]],
        delivered: ids[..2].to_vec(),
        ..FailoverRemains::default()
    };
    assert_eq!(found, expected);
    assert_eq!(repair(&setup, &found).await, [1, 0]);
    use DeliveryStatus::{Delivered, Pending};
    let stand = setup.outbox.status(&ids).await.expect("status");
    assert_eq!(stand, [Some(Delivered), Some(Delivered), Some(Pending)]);
    assert_eq!(taken(&setup, MESSAGE_QUEUE).await, [ids[2]]);
}

fn attempt(message: Uuid, answer: Answer) -> DeliveryAttempt {
    DeliveryAttempt {
        message,
        claim: Uuid::now_v7(),
        call: 1,
        number: 1,
        provider: ProviderName::new("primary").expect("a name"),
        ago: Duration::ZERO,
        took: Duration::ZERO,
        answer,
        reason: None,
        reference: None,
    }
}

async fn others_are_left_alone(setup: Setup) {
    let waiting = submit(&setup).await;
    let (_, records) = dispatched(&setup, 3).await;
    let ids = [records[1].id, records[2].id];
    setup.outbox.enqueue_now(&ids.map(|id| of_queue(id, MESSAGE_QUEUE))).await.expect("enqueue");
    let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue");
    let relay = Instance::new(9, Ports::of(setup.outbox.clone()), queue, 10);
    let claimed = relay.take_one().await;
    relay.bury(&claimed, "the address is unknown").await;
    setup.clock.advance(QUIET + Setup::MOMENT);
    let found = find(&setup).await;
    assert_eq!(
        found,
        FailoverRemains::default(),
        "one record waits for the step of its request, one is queued, one is dead"
    );
    assert_eq!(taken(&setup, REQUEST_QUEUE).await.len(), 2, "{}", waiting.id);
}

/// A digest was acknowledged, and the delivery of its item not noted; retention has deleted its message.
async fn lost_digest_is_taken_apart(setup: Setup) {
    const WINDOW: Duration = Duration::from_secs(60);
    let request = submit(&setup).await;
    let message = |user: &str| {
        let recipient = Recipient::user(user).key;
        let frame = NotificationMessage::erased(
            message_id(request.id, Channel::Email, &recipient),
            request.id,
            Channel::Email,
        );
        NotificationMessage { recipient, category: Some(Category::new("news").expect("a category")), ..frame }
    };
    let item = |user| DigestItem { message: message(user), params: Default::default(), language: None };
    let items = ["anna", "ben"].map(|user| NewDigestItem { item: item(user), window: WINDOW });
    let record = |new: &NewDigestItem| NotificationRecord {
        id: new.item.message.id,
        request_id: request.id,
        channel: Channel::Email,
        recipient: new.item.message.recipient.clone(),
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    };
    let step = FanOutStep {
        records: items.iter().map(record).collect(),
        items: items.to_vec(),
        ..step(request.id, FanOutEnd::Done)
    };
    setup.outbox.note_steps(std::slice::from_ref(&step)).await.expect("a step");
    let [lost, waiting] = items.map(|new| new.item.message.id);
    for table in ["queue", "message"] {
        let ids = [lost, request.id].map(hex).join(", ");
        setup.execute(&format!("DELETE FROM claimstream_{table} WHERE id IN ({ids})")).await;
    }
    setup.clock.advance(QUIET + Setup::MOMENT);
    let found = find(&setup).await;
    assert_eq!(found, FailoverRemains { requests: vec![request.id], ..FailoverRemains::default() });
    assert_eq!(setup.outbox.repair_failover_remains(&found).await.expect("a repair").queued, 1);
    setup.outbox.note_steps(&[step]).await.expect("the same step once more");
    assert_eq!(steps_of(&setup).await, [request.id]);
    let mut both = [lost, waiting];
    both.sort();
    assert_eq!(
        taken(&setup, MESSAGE_QUEUE).await,
        both,
        "one goes by itself now, one as the digest that it was"
    );
}

/// One request was written by a newer version, and one by hand.
async fn unreadable_is_left(setup: Setup) {
    let requests = [submit(&setup).await, submit(&setup).await, submit(&setup).await];
    setup.execute("DELETE FROM claimstream_queue").await;
    let broken = hex(requests[1].id);
    setup
        .execute(&format!("UPDATE claimstream_notification_request SET request = '{{}}' WHERE id = {broken}"))
        .await;
    setup.clock.advance(QUIET + Setup::MOMENT);
    let found = find(&setup).await;
    assert_eq!(found.requests.len(), 3, "{found:?}");
    let repaired = setup.outbox.repair_failover_remains(&found).await.expect("a repair");
    assert_eq!(repaired, FailoverRepair { queued: 2, unreadable: vec![requests[1].id] });
    let mut steps = steps_of(&setup).await;
    steps.sort();
    assert_eq!(steps, [requests[0].id, requests[2].id]);
    let cancelled = setup.outbox.cancel(requests[1].id).await.expect("an operator calls it off");
    assert_eq!(cancelled, Cancelled::Yes(CancelledMessages::default()));
    let found = find(&setup).await;
    assert_eq!(found.requests, Vec::<Uuid>::new(), "it is over");
}

/// Notes a step without records.
async fn note(setup: &Setup, request: Uuid, end: FanOutEnd) {
    setup.outbox.note_steps(&[step(request, end)]).await.expect("a step");
}

/// A step without records.
fn step(request: Uuid, end: FanOutEnd) -> FanOutStep {
    FanOutStep { request, end, takes_up: false, erased_places: 0, flaw: None, records: vec![], items: vec![] }
}

async fn submit(setup: &Setup) -> NotificationRequest {
    let request = mail_to(RecipientReference::User { user: "anna".into() });
    setup.outbox.submit_now(std::slice::from_ref(&request)).await.expect("submit");
    request
}

fn of_queue(id: Uuid, queue: &str) -> NewMessage {
    NewMessage::new(MessageId::new(id), QueueName::new(queue).expect("a queue"), Payload::json("{}"))
}

pub(super) async fn find(setup: &Setup) -> FailoverRemains {
    setup.outbox.failover_remains(QUIET).await.expect("a look")
}

/// How many messages are queued, by two repairs one after the other.
async fn repair(setup: &Setup, found: &FailoverRemains) -> [u64; 2] {
    let mut queued = [0; 2];
    for count in &mut queued {
        let repaired = setup.outbox.repair_failover_remains(found).await.expect("a repair");
        assert!(repaired.unreadable.is_empty(), "{repaired:?}");
        *count = repaired.queued;
    }
    assert_eq!(find(setup).await, FailoverRemains::default());
    queued
}

/// Takes what is due in a queue and acks it; the ids in order.
async fn taken(setup: &Setup, queue: &str) -> Vec<Uuid> {
    let mut ids: Vec<Uuid> = finished(setup, queue).await.iter().map(|message| message.id.uuid()).collect();
    ids.sort();
    ids
}

/// Takes the steps that are due and acks them; the requests that they are of.
async fn steps_of(setup: &Setup) -> Vec<Uuid> {
    let steps = finished(setup, REQUEST_QUEUE).await;
    let step = |message: &Message| serde_json::from_slice::<FanOut>(message.payload.bytes()).expect("a step");
    steps.iter().map(|message| step(message).request).collect()
}

async fn finished(setup: &Setup, queue: &str) -> Vec<Message> {
    let queue = QueueName::new(queue).expect("a queue");
    let relay = Instance::new(8, Ports::of(setup.outbox.clone()), queue, 10);
    let claimed = relay.take_all().await;
    for claimed in &claimed {
        relay.ack(claimed).await;
    }
    claimed.into_iter().map(|claimed| claimed.message).collect()
}
