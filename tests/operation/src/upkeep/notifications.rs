//! Promise: old entries of inboxes are removed, read or not, along an index, and no younger ones; a settled
//! request is removed with its messages when its retention is over, and no other is

use std::time::Duration;

use claimstream_domain::{
    DeadLetterFilter, Due, NewMessage, QueueName, Reason, Retention,
    notification::{
        Channel, Content, DeliveryStatus, FanOutEnd, InAppEntry, InAppPage, MESSAGE_QUEUE, NewInAppEntry,
        NotificationMessage, NotificationRecord, NotificationRequest, REQUEST_QUEUE, Recipient,
        RecipientReference,
        consent::{Address, Suppression},
        delivery_message, message_id,
    },
    saga::{NewSaga, SagaId},
};
use claimstream_ports::{
    StoreErrorKind, Transactions,
    notification::{
        Cancelled, EraseRecipient, FanOutStep, InAppInbox, MessageOutcome, MessageRepository,
        NotificationReports, RequestRepository, Suppressions,
    },
    saga::{NoteSagas, SagaReports},
};
use uuid::Uuid;

use super::{Place, Setup, hex};
use crate::{Instance, Ports, Suite, fixture::mail_to};

const DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    for retention in [Retention::DELETE, Retention::default()] {
        let name =
            |what: &str| format!("{what}_under_{}", if retention.deletes() { "delete" } else { "keep" });
        place.add(suite, "auto", retention, &name("settled_requests_go_with_their_messages"), settled_go);
        place.add(suite, "auto", retention, &name("requests_that_are_not_settled_stay"), others_stay);
        // Guard: a request stays while a message of it is in a queue |
        // adapters/sea-orm/src/sql/request_sweep/page.sql: without the bodies
        let what = name("a_request_stays_while_a_message_that_was_taken_back_waits_in_its_queue");
        place.add(suite, "auto", retention, &what, taken_back_stay);
        // Guard: a request stays while its revived fan-out is in a queue |
        // adapters/sea-orm/src/sql/request_sweep/dead.sql: dead letters alone
        let what = name("a_failed_request_stays_while_its_revived_fan_out_waits");
        place.add(suite, "auto", retention, &what, revived_stay);
    }
    let keep = Retention::default();
    place.add(suite, "auto", keep, "a_request_of_many_messages_goes_whole", many_go);
    place.add(suite, "auto", keep, "notes_of_sagas_go_when_no_step_is_left", sagas_go);
    place.add(suite, "auto", keep, "old_entries_of_inboxes_go_read_or_not", entries_go);
    // Guard: the addresses in dead letters of an erased recipient are forgotten |
    // adapters/sea-orm/src/sql/notifications/erase_payloads.sql: no `claimstream_dead`
    place.add(suite, "auto", keep, "payloads_of_an_erased_recipient_go_queued_or_dead", payloads_go);
}

async fn settled_go(setup: Setup) {
    let (request, records) = dispatched(&setup, 2).await;
    conclude(&setup, &records).await;
    setup.clock.advance(DAY);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 0, "not a moment too early");
    setup.clock.advance(Setup::MOMENT);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 1);
    assert_eq!(setup.outbox.progress(request.id).await.expect("progress"), None);
    assert_eq!(setup.outbox.messages(request.id, None, 9).await.expect("messages"), []);
    // The message that begins it was not handled, and a second one under its id would never be handled.
    let again = setup.outbox.submit_now(std::slice::from_ref(&request)).await.expect_err("a message is kept");
    assert_eq!(again.kind(), StoreErrorKind::Conflict);
    assert!(again.to_string().contains("look before you give it another id"), "{again}");
}

/// More than one chunk of entries are old, one is not.
async fn entries_go(setup: Setup) {
    let outbox = &setup.outbox;
    let entry = |n: u128| {
        let content = Content { title: Some("Paid".into()), ..Content::default() };
        NewInAppEntry { id: Uuid::from_u128(n), request_id: Uuid::from_u128(7), user: "anna".into(), content }
    };
    let old: Vec<NewInAppEntry> = (1..=1_200).map(entry).collect();
    for part in old.chunks(400) {
        outbox.put(part).await.expect("put");
    }
    InAppInbox::mark_read(outbox, "anna", &[old[0].id]).await.expect("mark");
    setup.clock.advance(InAppEntry::RETENTION);
    assert_eq!(outbox.sweep().await.expect("sweep").of("in_app"), 0, "not a moment too early");
    outbox.put(&[entry(9_999)]).await.expect("put");
    setup.clock.advance(Setup::MOMENT);
    assert_eq!(outbox.sweep().await.expect("sweep").of("in_app"), 1_200);
    let page = InAppPage { user: "anna".into(), only_unread: false, after: None, limit: 9 };
    let kept: Vec<u128> =
        outbox.page(&page).await.expect("page").iter().map(|one| one.entry.id.as_u128()).collect();
    assert_eq!(kept, [9_999]);
}

async fn others_stay(setup: Setup) {
    let waiting = mail_to(RecipientReference::User { user: "waits".into() });
    setup.outbox.submit_now(std::slice::from_ref(&waiting)).await.expect("submit");
    let (pending, records) = dispatched(&setup, 2).await;
    conclude(&setup, &records[..1]).await;
    let (late, records) = dispatched(&setup, 1).await;
    setup.clock.advance(DAY + Setup::MOMENT);
    conclude(&setup, &records).await;
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 0);
    for request in [waiting.id, pending.id, late.id] {
        assert!(setup.outbox.progress(request).await.expect("progress").is_some());
    }
    let cancelled = setup.outbox.cancel(pending.id).await.expect("cancel");
    assert!(matches!(cancelled, Cancelled::Yes(_)));
    setup.clock.advance(DAY + Setup::MOMENT);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 2);
    assert!(setup.outbox.progress(waiting.id).await.expect("progress").is_some());
}

/// One message comes in three days, as in a line of a provider's rate or after many failures. Without its record it would be delivered.
async fn taken_back_stay(setup: Setup) {
    let (request, records) = dispatched(&setup, 2).await;
    let late = NewMessage { due: Due::After(DAY * 3), ..message_of(&records[0], "anna@example.com") };
    setup.outbox.enqueue_now(&[late]).await.expect("enqueue");
    let cancelled = setup.outbox.cancel(request.id).await.expect("cancel");
    assert!(matches!(cancelled, Cancelled::Yes(_)));
    setup.clock.advance(DAY * 2);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 0);
    let stand = setup.outbox.status(&[records[0].id]).await.expect("a status");
    assert_eq!(stand, [Some(DeliveryStatus::Cancelled)]);
    setup.clock.advance(DAY + Setup::MOMENT);
    let instance = Instance::new(
        8,
        Ports::of(setup.outbox.clone()),
        QueueName::new(MESSAGE_QUEUE).expect("a queue"),
        10,
    );
    let taken = instance.take(1).await.remove(0);
    instance.ack(&taken).await;
    setup.clock.advance(DAY * 2);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 1, "once it is gone");
}

/// The relays stand still for two days after a revival.
async fn revived_stay(setup: Setup) {
    let request = mail_to(RecipientReference::User { user: "anna".into() });
    setup.outbox.submit_now(std::slice::from_ref(&request)).await.expect("submit");
    setup.clock.advance(Setup::MOMENT);
    let queue = QueueName::new(REQUEST_QUEUE).expect("a queue");
    let instance = Instance::new(8, Ports::of(setup.outbox.clone()), queue, 10);
    let taken = instance.take(1).await.remove(0);
    let (end, records) = (FanOutEnd::Failed(Reason::new("no directory")), vec![]);
    let step = FanOutStep {
        request: request.id,
        end,
        takes_up: false,
        erased_places: 0,
        flaw: None,
        records,
        items: vec![],
    };
    setup.outbox.note_steps(&[step]).await.expect("a step");
    instance.bury(&taken, "no directory").await;
    setup.clock.advance(DAY * 2);
    assert_eq!(
        setup.outbox.sweep().await.expect("sweep").of("requests"),
        0,
        "its dead letter may be revived"
    );
    assert_eq!(instance.revive(&DeadLetterFilter::default()).await, 1);
    setup.clock.advance(DAY * 2);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 0, "it waits in its queue");
    assert!(setup.outbox.progress(request.id).await.expect("progress").is_some());
}

async fn many_go(setup: Setup) {
    let (request, records) = dispatched(&setup, 1_500).await;
    conclude(&setup, &records).await;
    setup.clock.advance(DAY + Setup::MOMENT);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 1);
    assert_eq!(setup.outbox.messages(request.id, None, 9).await.expect("messages"), []);
}

async fn sagas_go(setup: Setup) {
    let id = SagaId::new(Uuid::now_v7());
    let tx = setup.outbox.begin_tx().await.expect("begin");
    let (scope, owner, input) = ("saga:trip".into(), "anna".into(), "\"Rome\"".into());
    setup.outbox.note(&tx, &NewSaga { scope, id, owner, input }).await.expect("a note");
    setup.outbox.commit_tx(tx).await.expect("commit");
    setup.clock.advance(DAY);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("sagas"), 0);
    assert!(setup.outbox.saga("saga:trip", id).await.expect("a look").is_some());
    setup.clock.advance(DAY * 31);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("sagas"), 1);
    let left = setup.outbox.saga("saga:trip", id).await.expect("a look").expect("its id is used");
    assert_eq!((&*left.owner, &*left.input), ("", ""));
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("sagas"), 0);
}

/// One message waits, one is dead and its body is swept; both carry an address, which is suppressed.
async fn payloads_go(setup: Setup) {
    let (_, records) = dispatched(&setup, 2).await;
    for record in &records {
        let address = format!("anna@{}.example.com", record.id);
        setup.outbox.enqueue_now(&[message_of(record, &address)]).await.expect("enqueue");
        let address = Address::new(record.channel, &address);
        setup.outbox.suppress(&address, Suppression::Bounced, None).await.expect("suppress");
    }
    setup.clock.advance(Setup::MOMENT);
    let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue");
    let instance = Instance::new(8, Ports::of(setup.outbox.clone()), queue, 10);
    let dead = instance.take(1).await.remove(0);
    instance.bury(&dead, "no such address anna@example.com").await;
    let id = dead.message.id.uuid();
    setup.execute(&format!("DELETE FROM claimstream_message WHERE id = {}", hex(id))).await;
    for record in &records {
        let erased = setup.outbox.erase(&record.recipient, &[]).await.expect("erase");
        let is_dead = u64::from(record.id == id);
        assert_eq!((erased.records, erased.bodies, erased.dead_letters), (1, 1 - is_dead, is_dead));
    }
    let readable = "SELECT COUNT(*) FROM claimstream_suppression WHERE INSTR(address, 'anna@') > 0";
    assert_eq!(setup.count(readable).await, 0);
    for table in ["claimstream_message", "claimstream_dead"] {
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE INSTR(payload, 'anna@') > 0");
        assert_eq!(setup.count(&sql).await, 0, "{table}");
    }
    let reasons = "SELECT COUNT(*) FROM claimstream_dead WHERE INSTR(reason, 'anna@') > 0";
    assert_eq!(setup.count(reasons).await, 0);
    let left = instance.take_all().await;
    assert!(serde_json::from_slice::<NotificationMessage>(left[0].message.payload.bytes()).is_ok());
}

/// The message of a record, to this address.
fn message_of(record: &NotificationRecord, address: &str) -> NewMessage {
    let frame = NotificationMessage::erased(record.id, record.request_id, record.channel);
    delivery_message(&NotificationMessage { address: address.into(), ..frame }).expect("a message")
}

/// A request that was dispatched into pending messages to as many users.
pub(super) async fn dispatched(
    setup: &Setup,
    messages: u32,
) -> (NotificationRequest, Vec<NotificationRecord>) {
    let request = mail_to(RecipientReference::User { user: "anna".into() });
    setup.outbox.submit_now(std::slice::from_ref(&request)).await.expect("submit");
    let record = |n: u32| {
        let recipient = Recipient::user(&format!("{n}-of-{}", request.id)).key;
        NotificationRecord {
            id: message_id(request.id, Channel::Email, &recipient),
            request_id: request.id,
            channel: Channel::Email,
            recipient,
            status: DeliveryStatus::Pending,
            reason: None,
            reference: None,
        }
    };
    let records: Vec<_> = (0..messages).map(record).collect();
    let end = FanOutEnd::Done;
    let step = FanOutStep {
        request: request.id,
        end,
        takes_up: false,
        erased_places: 0,
        flaw: None,
        records: records.clone(),
        items: vec![],
    };
    setup.outbox.note_steps(&[step]).await.expect("a step");
    (request, records)
}

async fn conclude(setup: &Setup, records: &[NotificationRecord]) {
    let (status, reason) = (DeliveryStatus::Delivered, None::<Reason>);
    let outcome = |record: &NotificationRecord| MessageOutcome {
        id: record.id,
        status,
        reason: reason.clone(),
        reference: None,
    };
    let outcomes: Vec<_> = records.iter().map(outcome).collect();
    setup.outbox.conclude(&outcomes).await.expect("outcomes");
}
