//! Notes of notification handlers whose answer is lost on the wire: the handler notes them again, and what was noted stays.
//! Promise: a record of a notification that a failover has lost is restored when its message comes; its
//! request ends, and not before its last step
//! Promise: a step or an outcome of a notification whose answer was lost is recorded once and may be recorded
//! again, and the message is sent once

use std::sync::{Arc, Mutex, atomic::Ordering};

use claimstream_domain::{
    Claimed, Disposition, QueueName, Reason, RetryPolicy, Settled, Verdict, decide,
    notification::{
        Channel, DeliveryStatus, FanOutEnd, NotificationRecord, RecipientReference, RequestStatus, Submitted,
        message_id,
    },
};
use claimstream_notifications::{MESSAGE_QUEUE, REQUEST_QUEUE};
use claimstream_ports::{
    Handler, StoreErrorKind,
    notification::{
        FanOutStep, MessageOutcome, MessageRepository, NotificationReports, RequestRepository, StepNoted,
    },
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_testbed::eventually;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use uuid::Uuid;

use crate::{
    Instance, Ports, Server, Suite,
    backend::SeaOrmBackend,
    fixture::{Deliveries, Wire, fan_out_to, mail_to},
};

/// Adds the lost answers on every server that is here.
pub fn add_to(suite: &mut Suite, environment: impl Fn(&str) -> Option<String>) {
    for server in Server::ALL {
        let Some(url) = server.url(&environment) else { continue };
        let name = |what: &str| format!("{}::lost_notes::{what}", server.name);
        let backend = move || SeaOrmBackend::server(server.name, &url, "auto");
        let (steps, outcomes, lost, handlers) = (backend.clone(), backend.clone(), backend.clone(), backend);
        suite.add_async_test(
            &name("a_request_whose_notes_a_failover_has_lost_comes_to_its_end"),
            async move {
                comes_to_its_end(&AtWire::on(&lost()).await).await;
            },
        );
        // Guard: a fan-out step and its records share a transaction |
        // adapters/sea-orm/src/notifications/fan_outs.rs: a commit between the two
        suite.add_async_test(&name("a_step_whose_commit_went_unanswered_is_noted_again"), async move {
            is_noted_again(&AtWire::on(&steps()).await).await;
        });
        // Guard: the delivery of a message is final |
        // adapters/sea-orm/src/sql/notifications/message_conclude.sql `conclude`: no condition on `status`
        suite.add_async_test(&name("an_outcome_whose_answer_was_lost_is_left_as_it_is"), async move {
            is_left_as_it_is(&AtWire::on(&outcomes()).await).await;
        });
        // Guard: a message that has ended is not sent again | app/notifications/src/message_handler.rs:
        // delivers at any status
        suite.add_async_test(&name("a_notification_whose_notes_went_unanswered_is_sent_once"), async move {
            is_sent_once(&AtWire::on(&handlers()).await).await;
        });
    }
}

/// All of the step was written, and noted again it is answered as if the answer had come.
async fn is_noted_again(setup: &AtWire) {
    let ends = [
        (FanOutEnd::More, RequestStatus::Processing),
        (FanOutEnd::Done, RequestStatus::Dispatched),
        (FanOutEnd::Failed(Reason::new("the segment is unknown")), RequestStatus::Failed),
    ];
    for (end, status) in ends {
        let request = setup.submit().await;
        let records = [DeliveryStatus::Pending, DeliveryStatus::Skipped].map(|it| record(request, it));
        let kept: Vec<_> =
            records.iter().filter(|_| status.has_messages()).map(|record| record.status).collect();
        let step = [FanOutStep {
            request,
            end,
            takes_up: false,
            erased_places: 0,
            flaw: None,
            records: records.to_vec(),
            items: vec![],
        }];
        setup.wire.cut_after_commit.store(true, Ordering::SeqCst);
        let error = setup.noting.note_steps(&step).await.expect_err("the answer was lost");
        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
        assert!(!setup.wire.cut_after_commit.load(Ordering::SeqCst), "no commit was cut");
        let there = || async {
            let page = setup.direct.messages(request, None, 9).await.expect("messages");
            let mut kept: Vec<_> = page.into_iter().map(|record| record.status).collect();
            kept.sort_by_key(|status| *status != DeliveryStatus::Pending);
            (setup.stands(request).await, kept)
        };
        assert_eq!(there().await, (status, kept.clone()), "all of it was written");
        let noted = setup.noting.note_steps(&step).await.expect("once more");
        assert_eq!(noted, [StepNoted { status: Some(status), records: kept.clone(), outdated: false }]);
        assert_eq!(there().await, (status, kept), "nothing was written twice");
    }
}

/// One outcome, and as many that read alike as have a statement of their own: a message that is delivered stays so, whatever its
/// handler notes after it delivered once more.
async fn is_left_as_it_is(setup: &AtWire) {
    for outcomes in [1, 20] {
        let request = setup.submit().await;
        let records: Vec<_> = (0..outcomes).map(|_| record(request, DeliveryStatus::Pending)).collect();
        let step = FanOutStep {
            request,
            end: FanOutEnd::Done,
            takes_up: false,
            erased_places: 0,
            flaw: None,
            records: records.clone(),
            items: vec![],
        };
        setup.noting.note_steps(&[step]).await.expect("note");
        let ended = |status, reference: &str| -> Vec<_> {
            let reference = Some(reference.to_owned());
            let end = |record: &NotificationRecord| MessageOutcome {
                id: record.id,
                status,
                reason: None,
                reference: reference.clone(),
            };
            records.iter().map(end).collect()
        };
        setup.wire.cut_after_change.store(true, Ordering::SeqCst);
        let first = ended(DeliveryStatus::Delivered, "first");
        let error = setup.noting.conclude(&first).await.expect_err("the answer was lost");
        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
        assert!(!setup.wire.cut_after_change.load(Ordering::SeqCst), "nothing was changed");
        assert_eq!(setup.references(request).await, vec!["DELIVERED first"; outcomes]);
        for again in [first, ended(DeliveryStatus::Delivered, "second"), ended(DeliveryStatus::Failed, "x")] {
            setup.noting.conclude(&again).await.expect("once more");
            assert_eq!(setup.references(request).await, vec!["DELIVERED first"; outcomes]);
        }
    }
}

/// Each handler loses the answer to what it notes, has its message once more, and then ends it.
async fn is_sent_once(setup: &AtWire) {
    let request = setup.submit().await;
    let fan_out = fan_out_to("ada", setup.noting.clone(), setup.noting.clone());
    setup
        .handle_twice(REQUEST_QUEUE, &fan_out, || setup.wire.cut_after_commit.store(true, Ordering::SeqCst))
        .await;
    let mail = Deliveries::default();
    let delivery = mail.handler(setup.noting.clone());
    setup
        .handle_twice(MESSAGE_QUEUE, &delivery, || setup.wire.cut_after_change.store(true, Ordering::SeqCst))
        .await;
    assert_eq!(mail.of(request).len(), 1, "it was delivered once");
    let progress = setup.direct.progress(request).await.expect("progress").expect("a request");
    assert_eq!((progress.recorded, progress.delivered, progress.total()), (RequestStatus::Dispatched, 1, 1));
    for queue in [REQUEST_QUEUE, MESSAGE_QUEUE] {
        assert_eq!(setup.reader(queue).status().await, None, "{queue} is empty");
    }
}

/// The fan-out was noted on a server that died, and its message was enqueued on the one that took over: the record is missing there, and
/// the request stands as it was handed in.
async fn comes_to_its_end(setup: &AtWire) {
    let request = setup.submit().await;
    let fan_out = fan_out_to("ada", setup.noting.clone(), setup.noting.clone());
    setup.handle(REQUEST_QUEUE, &fan_out).await;
    for lost in [
        "DELETE FROM claimstream_notification_message",
        "UPDATE claimstream_notification_request SET status = 'PENDING'",
    ] {
        setup.direct.connection().execute_unprepared(lost).await.expect("the loss");
    }
    let mail = Deliveries::default();
    setup.handle(MESSAGE_QUEUE, &mail.handler(setup.noting.clone())).await;
    assert_eq!(mail.of(request).len(), 1, "it was delivered once");
    let progress = setup.direct.progress(request).await.expect("progress").expect("a request");
    assert_eq!((progress.recorded, progress.delivered, progress.total()), (RequestStatus::Dispatched, 1, 1));
}

/// An outbox of handlers at a wire that can be cut, and the same database without that wire.
struct AtWire {
    wire: Wire,
    noting: Arc<SeaOrmOutbox>,
    direct: SeaOrmOutbox,
}

impl AtWire {
    async fn on(backend: &SeaOrmBackend) -> Self {
        let url = backend.database().await.expect("a database");
        let direct = SeaOrmOutbox::open(&url, OpenOptions::default()).await.expect("open");
        let wire = Wire::to(&url).await.expect("a port");
        let noting = SeaOrmOutbox::open(&wire.url, OpenOptions::default()).await.expect("open");
        Self { wire, noting: Arc::new(noting), direct }
    }

    async fn submit(&self) -> Uuid {
        let request = mail_to(RecipientReference::User { user: "ada".into() });
        let taken = self.direct.submit_now(std::slice::from_ref(&request)).await.expect("submit");
        assert_eq!(taken, [Submitted::New]);
        request.id
    }

    async fn stands(&self, request: Uuid) -> RequestStatus {
        self.direct.progress(request).await.expect("progress").expect("a request").recorded
    }

    /// How each message of a request ended, with the provider's name for it.
    async fn references(&self, request: Uuid) -> Vec<String> {
        let read = "SELECT CONCAT_WS(' ', status, reference) FROM claimstream_notification_message \
                    WHERE request_id = ?";
        let id = request.as_bytes().to_vec();
        let read = Statement::from_sql_and_values(DbBackend::MySql, read, [id.into()]);
        let rows = self.direct.connection().query_all_raw(read).await.expect("the messages");
        rows.iter().map(|row| row.try_get_by_index(0).expect("a text")).collect()
    }

    fn reader(&self, queue: &str) -> Instance {
        let queue = QueueName::new(queue).expect("a queue name");
        Instance::new(7, Ports::of(self.direct.clone()), queue, 5)
    }

    /// Hands the only message of a queue to its handler, and settles it as the verdict says.
    async fn handle(&self, queue: &str, handler: &dyn Handler) {
        let reader = self.reader(queue);
        let claimed = reader.take_one().await;
        let disposition = decide(verdict_of(handler, &claimed).await, 1, &RetryPolicy::default(), 0);
        assert_eq!(reader.settle(&claimed.receipt, disposition).await, Settled::Accepted);
    }

    /// Hands the only message of a queue to its handler, first after `cut`, and settles it as the second verdict says.
    async fn handle_twice(&self, queue: &str, handler: &dyn Handler, cut: impl Fn()) {
        let reader = self.reader(queue);
        let claimed = reader.take_one().await;
        cut();
        let verdict = verdict_of(handler, &claimed).await;
        assert!(matches!(verdict, Verdict::Nack { .. }), "the answer was lost: {verdict:?}");
        let disposition = decide(verdict_of(handler, &claimed).await, 1, &RetryPolicy::default(), 0);
        assert!(matches!(disposition, Disposition::Done { .. }), "{disposition:?}");
        assert_eq!(reader.settle(&claimed.receipt, disposition).await, Settled::Accepted);
    }
}

/// What a handler decides on a message, which it has again as long as a slow server keeps the handler from beginning.
async fn verdict_of(handler: &dyn Handler, claimed: &Claimed) -> Verdict {
    let verdict = Mutex::new(Verdict::Release);
    eventually("the handler works on the message", async || {
        let decided = handler.handle(claimed).await;
        let has_begun = decided != Verdict::Release;
        *verdict.lock().expect("one at a time") = decided;
        has_begun
    })
    .await;
    verdict.into_inner().expect("one at a time")
}

fn record(request_id: Uuid, status: DeliveryStatus) -> NotificationRecord {
    let recipient = format!("user:{}", Uuid::now_v7());
    let id = message_id(request_id, Channel::Email, &recipient);
    let reason = (status == DeliveryStatus::Skipped).then(|| Reason::new("no address"));
    NotificationRecord { id, request_id, channel: Channel::Email, recipient, status, reason, reference: None }
}
