//! Handlers that meet what a failover has lost of notifications, played by deleting it.
//! Promise: one repair finishes a request of several steps of which records were lost, and sends nothing
//! again that is recorded

use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    DeadLetterFilter, QueueName, Retention, RetryPolicy, decide,
    notification::{
        Channel, DeliveryStatus, DirectRecipient, ERASED, FanOutEnd, MESSAGE_QUEUE, NotificationRecord,
        NotificationRequest, Progress, REQUEST_QUEUE, Recipient, RecipientReference, RequestStatus,
        message_id,
    },
};
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{RequestConfig, RequestHandler};
use claimstream_ports::{
    DeadLetters, Handler,
    notification::{
        EraseRecipient, MessageRepository, MissingRecord, NotificationReports, RequestRepository,
    },
};
use claimstream_sea_orm::FailoverRemains;
use claimstream_testbed::statement_waits;
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DbBackend};
use uuid::Uuid;

use super::{
    Place, Setup, hex,
    remains::{QUIET, find},
};
use crate::{
    Instance, Ports, Suite,
    fixture::{Deliveries, mail_to},
};

pub(super) fn add_to(suite: &mut Suite, place: &Place) {
    let keep = Retention::default();
    let name = "an_erased_recipient_whose_record_was_lost_is_not_delivered_to";
    place.add(suite, "auto", keep, name, erased_is_not_delivered_to);
    // Guard: the time of an erasure never goes back | adapters/sea-orm/src/sql/erasures/note.sql: the present
    // moment
    place.add(suite, "auto", keep, "erasures_go_when_no_request_is_left_from_before", erasures_go);
    if place.name != "sqlite" {
        // Guard: restoring a record locks its recipient | adapters/sea-orm/src/notifications/erasures.rs
        // `hold`: no insert
        // Guard: an erasure is recorded | adapters/sea-orm/src/notifications/erasing.rs `erase`: no `note`
        place.add(suite, "auto", keep, "an_erasure_waits_for_a_record_that_is_being_restored", erasure_waits);
    }
    // Guard: an erasure stays as long as a message may be revived | adapters/sea-orm/src/notifications/sweep/erasures.rs:
    // `alive` ignored
    let name = "an_erasure_stays_as_long_as_a_message_that_may_be_revived";
    place.add(suite, "auto", keep, name, erasure_outlives_dead_letters);
    let name = "a_restored_record_of_an_early_step_does_not_end_its_request";
    place.add(suite, "auto", keep, name, early_step_does_not_end);
    let name =
        "a_request_of_several_steps_is_finished_by_one_repair_and_sends_nothing_twice_that_is_recorded";
    place.add(suite, "auto", keep, name, several_steps_are_finished);
}

/// Whether the request names the user, the address, or a segment of which the user is a member.
async fn erased_is_not_delivered_to(setup: Setup) {
    let world = World::of(&setup, 10);
    let ada = DirectRecipient { email: Some(address("ada")), ..DirectRecipient::default() };
    let named = [
        (vec![user("ada"), user("bob")], Recipient::user("ada").key),
        (vec![RecipientReference::Direct(ada.clone()), user("bob")], ada.resolve().key),
        (vec![RecipientReference::Segment { segment: "crew".into() }], Recipient::user("ada").key),
    ];
    for (recipients, key) in named {
        let others = if recipients.len() == 1 { 2 } else { 1 };
        let request = world.submit(recipients).await;
        assert_eq!(world.fan_out().await, 1);
        world.lose_records().await;
        setup.outbox.erase(&key, &[]).await.expect("erase");
        setup.clock.advance(Setup::MOMENT);
        world.deliver().await;
        let mut reached: Vec<_> = world.mail.of(request).into_iter().map(|message| message.address).collect();
        reached.sort();
        assert_eq!(reached, [address("bob"), address("cy")][..others], "{key}");
        let now = world.progress(request).await;
        assert_eq!(
            (now.recorded, now.delivered, now.cancelled),
            (RequestStatus::Dispatched, others as u64, 1)
        );
        for (table, column) in
            [("message", "payload"), ("dead", "payload"), ("notification_message", "recipient")]
        {
            let sql = format!(
                "SELECT COUNT(*) FROM claimstream_{table} WHERE INSTR({column}, 'ada@') + INSTR({column}, ':ada') > 0"
            );
            assert_eq!(setup.count(&sql).await, 0, "{table} says {key}");
        }
        setup.clock.advance(Setup::MOMENT);
        let again = world.submit(vec![user("ada")]).await;
        world.fan_out().await;
        world.lose_records().await;
        world.deliver().await;
        assert_eq!(world.mail.of(again).len(), 1, "what is handed in afterwards is delivered");
        setup.execute("DELETE FROM claimstream_message").await;
        setup.execute("DELETE FROM claimstream_notification_message").await;
    }
}

async fn erasures_go(setup: Setup) {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let world = World::of(&setup, 10);
    let kept = async || setup.count("SELECT COUNT(*) FROM claimstream_erased_recipient").await;
    let request = world.submit(vec![user("ada")]).await;
    setup.outbox.erase("user:gone", &[]).await.expect("erase");
    // The clock of the server before was ahead.
    let (later, at) = match setup.outbox.connection().get_database_backend() {
        DbBackend::Sqlite => ("erased_at + 3600000000", "erased_at"),
        _ => (
            "erased_at + INTERVAL 1 HOUR",
            "CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', erased_at) AS SIGNED)",
        ),
    };
    setup.execute(&format!("UPDATE claimstream_erased_recipient SET erased_at = {later}")).await;
    let at = async || setup.count(&format!("SELECT {at} FROM claimstream_erased_recipient")).await;
    let before = at().await;
    setup.outbox.erase("user:gone", &[]).await.expect("erase");
    assert_eq!(at().await, before + 1, "an erasure is never noted earlier than it was");
    setup.clock.advance(DAY * 31);
    setup.sweep().await;
    assert_eq!(kept().await, 1, "a request is older");
    setup.outbox.cancel(request).await.expect("cancel");
    world.fan_out().await;
    setup.outbox.erase("user:other", &[]).await.expect("erase");
    setup.clock.advance(DAY * 2);
    assert_eq!(setup.outbox.sweep().await.expect("sweep").of("requests"), 1);
    assert_eq!(kept().await, 1, "one is younger than thirty days");
    setup.clock.advance(DAY * 29);
    setup.sweep().await;
    assert_eq!(kept().await, 0);
}

/// The record cannot be written before the lock of its table goes; a file has one writer at a time, so nothing is tried there.
async fn erasure_waits(setup: Setup) {
    const A_WHILE: Duration = Duration::from_millis(400);
    let world = World::of(&setup, 10);
    let (request_id, recipient) = (world.submit(vec![user("bob")]).await, Recipient::user("ada").key);
    let id = message_id(request_id, Channel::Email, &recipient);
    let record = NotificationRecord {
        id,
        request_id,
        channel: Channel::Email,
        recipient: recipient.clone(),
        status: DeliveryStatus::Pending,
        reason: None,
        reference: None,
    };
    let mut alone = ConnectOptions::new(setup.url.clone());
    let lock = Database::connect(alone.max_connections(1).clone()).await.expect("a connection");
    lock.execute_unprepared("LOCK TABLES claimstream_notification_message READ").await.expect("a lock");
    let (restores, erases) = (setup.outbox.clone(), setup.outbox.clone());
    let missing = [MissingRecord { record, end: FanOutEnd::Done }];
    let restoring = tokio::spawn(async move { restores.restore(&missing).await });
    statement_waits(&setup.outbox).await;
    let erasing = tokio::spawn(async move { erases.erase(&recipient, &[]).await });
    tokio::time::sleep(A_WHILE).await;
    assert!(!restoring.is_finished(), "the table is locked");
    assert!(!erasing.is_finished(), "it did not wait, and found nothing");
    lock.execute_unprepared("UNLOCK TABLES").await.expect("an end");
    restoring.await.expect("no panic").expect("restored");
    erasing.await.expect("no panic").expect("erased");
    let kept = NotificationReports::record(&setup.outbox, id).await.expect("read").expect("a record");
    assert_eq!((kept.recipient.as_str(), kept.status), (ERASED, DeliveryStatus::Cancelled));
}

/// The failover has lost the record, and retention has taken the request away, before the dead letter is revived.
async fn erasure_outlives_dead_letters(setup: Setup) {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let world = World::of(&setup, 10);
    let request = world.submit(vec![user("ada")]).await;
    assert_eq!(world.fan_out().await, 1);
    setup.clock.advance(Setup::MOMENT);
    let relay = Instance::new(9, Ports::of(setup.outbox.clone()), messages(), 10);
    let claimed = relay.take_one().await;
    relay.bury(&claimed, "the address is unknown").await;
    for lost in ["notification_message", "notification_request"] {
        setup.execute(&format!("DELETE FROM claimstream_{lost}")).await;
    }
    setup.outbox.erase("user:ada", &[]).await.expect("erase");
    let at = async || setup.count("SELECT COUNT(*) FROM claimstream_erased_recipient").await;
    setup.clock.advance(DAY * 40);
    setup.sweep().await;
    assert_eq!(at().await, 1, "its dead letter may be revived");
    let revived = setup.outbox.revive(&DeadLetterFilter::default()).await.expect("revive");
    assert_eq!(revived, 1);
    world.deliver().await;
    assert!(world.mail.of(request).is_empty(), "the recipient was erased");
    setup.clock.advance(DAY * 40);
    setup.sweep().await;
    assert_eq!(at().await, 0, "nothing is left that could come");
}

fn messages() -> QueueName {
    QueueName::new(MESSAGE_QUEUE).expect("a queue")
}

/// The notes of the first of two steps are lost, or those of both.
async fn early_step_does_not_end(setup: Setup) {
    for both in [false, true] {
        let world = World::of(&setup, 1);
        let request = world.submit(vec![user("ada"), user("bob")]).await;
        world.one_step().await;
        if both {
            world.one_step().await;
        }
        world.lose_records().await;
        if both {
            world.deliver().await;
        } else {
            world.deliver().await;
            let now = world.progress(request).await;
            assert_eq!((now.recorded, now.delivered), (RequestStatus::Processing, 1), "one more step comes");
            world.fan_out().await;
            world.deliver().await;
        }
        let now = world.progress(request).await;
        assert_eq!((now.recorded, now.delivered, now.total()), (RequestStatus::Dispatched, 2, 2));
    }
}

/// What the last step noted and enqueued is lost, and so is a delivery that was not noted; the messages of all steps are kept.
async fn several_steps_are_finished(setup: Setup) {
    let world = World::of(&setup, 1);
    let request = world.submit(vec![user("ada"), user("bob"), user("cy"), user("dan")]).await;
    world.fan_out().await;
    world.deliver().await;
    assert_eq!(world.progress(request).await.delivered, 4);
    let of = |name: &str| {
        let mail = world.mail.of(request);
        mail.iter().find(|message| message.address == address(name)).expect("a message").id
    };
    for lost in [
        format!("DELETE FROM claimstream_message WHERE id = {}", hex(of("dan"))),
        format!("DELETE FROM claimstream_notification_message WHERE id = {}", hex(of("dan"))),
        format!(
            "UPDATE claimstream_notification_message SET status = 'PENDING' WHERE id = {}",
            hex(of("cy"))
        ),
        "UPDATE claimstream_notification_request SET status = 'PROCESSING'".to_owned(),
    ] {
        setup.execute(&lost).await;
    }
    setup.clock.advance(QUIET + Setup::MOMENT);
    let found = find(&setup).await;
    let expected =
        FailoverRemains { requests: vec![request], messages: vec![of("cy")], ..FailoverRemains::default() };
    assert_eq!(found, expected);
    assert_eq!(setup.outbox.repair_failover_remains(&found).await.expect("a repair").queued, 2);
    assert_eq!(world.fan_out().await, 4, "all steps of it, though the messages of earlier ones are kept");
    world.deliver().await;
    let mut reached: Vec<_> = world.mail.of(request).into_iter().map(|message| message.address).collect();
    reached.sort();
    let (ada, bob, cy, dan) = (address("ada"), address("bob"), address("cy"), address("dan"));
    assert_eq!(reached, [ada, bob, cy.clone(), cy, dan.clone(), dan], "what was recorded is not sent again");
    let now = world.progress(request).await;
    assert_eq!((now.recorded, now.delivered, now.total()), (RequestStatus::Dispatched, 4, 4));
    setup.clock.advance(QUIET + Setup::MOMENT);
    assert_eq!(find(&setup).await, FailoverRemains::default(), "nothing is left");
}

/// The handlers of notifications on an outbox, and what they have delivered.
struct World<'a> {
    setup: &'a Setup,
    steps: RequestHandler,
    mail: Deliveries,
}

impl<'a> World<'a> {
    /// A step takes so many recipients.
    fn of(setup: &'a Setup, chunk: u32) -> Self {
        let names = ["ada", "bob", "cy", "dan"];
        let directory = names.into_iter().try_fold(MemoryDirectory::new(), |directory, name| {
            directory.with_user(Recipient { email: Some(address(name)), ..Recipient::user(name) })
        });
        let directory = directory.and_then(|directory| directory.with_segment("crew", &names[..3]));
        let (outbox, templates) = (Arc::new(setup.outbox.clone()), Arc::new(MemoryTemplates::new("en")));
        let config = RequestConfig { chunk, ..RequestConfig::default() };
        let directory = Arc::new(directory.expect("a directory"));
        let steps = RequestHandler::new(outbox.clone(), outbox, directory, templates, config);
        Self { setup, steps: steps.expect("a handler"), mail: Deliveries::default() }
    }

    async fn submit(&self, recipients: Vec<RecipientReference>) -> Uuid {
        let request = NotificationRequest { recipients, ..mail_to(user("unknown")) };
        self.setup.outbox.submit_now(std::slice::from_ref(&request)).await.expect("submit");
        request.id
    }

    async fn progress(&self, request: Uuid) -> Progress {
        self.setup.outbox.progress(request).await.expect("progress").expect("a request")
    }

    /// A server takes over that has the messages and not what was noted of them.
    async fn lose_records(&self) {
        self.setup.execute("DELETE FROM claimstream_notification_message").await;
        self.setup.execute("UPDATE claimstream_notification_request SET status = 'PENDING'").await;
    }

    /// Handles all steps that are queued, and those that follow: how many.
    async fn fan_out(&self) -> usize {
        let mut steps = 0;
        loop {
            match self.one_step().await {
                0 => return steps,
                some => steps += some,
            }
        }
    }

    /// Handles the steps that are queued.
    async fn one_step(&self) -> usize {
        self.handle_all(REQUEST_QUEUE, &self.steps).await
    }

    /// Delivers all that is queued.
    async fn deliver(&self) {
        let handler = self.mail.handler(Arc::new(self.setup.outbox.clone()));
        self.handle_all(MESSAGE_QUEUE, &handler).await;
    }

    async fn handle_all(&self, queue: &str, handler: &dyn Handler) -> usize {
        self.setup.clock.advance(Setup::MOMENT);
        let queue = QueueName::new(queue).expect("a queue");
        let relay = Instance::new(8, Ports::of(self.setup.outbox.clone()), queue, 10);
        let all = relay.take_all().await;
        for claimed in &all {
            let disposition = decide(handler.handle(claimed).await, 1, &RetryPolicy::default(), 0);
            relay.settle(&claimed.receipt, disposition).await;
        }
        all.len()
    }
}

fn user(name: &str) -> RecipientReference {
    RecipientReference::User { user: name.into() }
}

fn address(name: &str) -> String {
    format!("{name}@example.com")
}
