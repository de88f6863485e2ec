//! Requests from their submission to their end, through both handlers.
//! Promise: requests end as the pages describe: two skipped of eight (A1.6), cancelled before it is due
//! (A1.7), an unknown segment (A1.10), no recipient, expired

use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    QueueName, RetryPolicy, Settled, decide,
    notification::{
        Channel, DirectRecipient, NotificationRequest, Progress, Recipient, RecipientReference, RequestStatus,
    },
};
use claimstream_memory::{MemoryDirectory, MemoryTemplates};
use claimstream_notifications::{
    MESSAGE_QUEUE, MessageConfig, MessageHandler, Providers, RequestConfig, RequestHandler,
};
use claimstream_ports::{
    Handler,
    notification::{Cancelled, CancelledMessages},
};

use crate::{
    Instance, NotificationFixture,
    fixture::{Deliveries, mail_to},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<NotificationFixture>] = cases!["scenarios" needs [Notifications]:
    a1_6_two_users_and_two_directs_on_two_channels_are_eight_of_which_two_are_skipped,
    a1_7_what_is_cancelled_before_its_time_is_never_sent,
    a1_10_an_unknown_segment_fails_a_request_and_costs_others_nothing,
    a_request_of_which_everything_is_skipped_is_undeliverable,
    what_is_cancelled_after_its_fan_out_is_not_sent,
    a_message_that_comes_after_its_expiry_is_skipped,
];

pub async fn a1_6_two_users_and_two_directs_on_two_channels_are_eight_of_which_two_are_skipped(
    fixture: NotificationFixture,
) {
    let mail = DirectRecipient { email: Some("m@example.com".into()), ..DirectRecipient::default() };
    let token = DirectRecipient { device_token: Some("t".into()), ..DirectRecipient::default() };
    let request = NotificationRequest {
        recipients: vec![
            user("anna"),
            user("bob"),
            RecipientReference::Direct(mail),
            RecipientReference::Direct(token),
        ],
        channels: vec![Channel::Email, Channel::Push],
        ..mail_to(user("anna"))
    };
    let (progress, delivered) = sent(&fixture, &request).await;
    assert_eq!(progress.status(), RequestStatus::Dispatched);
    assert_eq!((progress.total(), progress.delivered, progress.skipped), (8, 6, 2));
    assert_eq!(delivered, 6);
    let records = fixture.rival.reports.messages(request.id, None, 9).await.expect("messages");
    let referred = |id: uuid::Uuid| Some(id.to_string());
    assert!(records.iter().all(|r| r.reason.is_some() || r.reference == referred(r.id)), "{records:?}");
}

pub async fn a1_7_what_is_cancelled_before_its_time_is_never_sent(fixture: NotificationFixture) {
    let scheduled_at = Some(fixture.outbox.moment(60_000_000));
    let request = NotificationRequest { scheduled_at, ..mail_to(user("anna")) };
    fixture.store.submit(std::slice::from_ref(&request)).await;
    fixture.outbox.advance(Duration::from_secs(30)).await;
    assert!(fixture.outbox.store.status().await.is_some());
    let cancelled = fixture.rival.requests.cancel(request.id).await.expect("cancel");
    assert_eq!(cancelled, Cancelled::Yes(CancelledMessages::default()));
    assert_eq!(fixture.outbox.store.status().await.map_or(0, |status| status.depth), 0, "removed");
    fixture.outbox.advance(Duration::from_secs(60)).await;
    let (progress, delivered) = worked(&fixture, &request).await;
    assert_eq!((progress.status(), progress.total(), delivered), (RequestStatus::Cancelled, 0, 0));
}

pub async fn a1_10_an_unknown_segment_fails_a_request_and_costs_others_nothing(fixture: NotificationFixture) {
    let alone = mail_to(segment("vip"));
    let (progress, delivered) = sent(&fixture, &alone).await;
    assert_eq!((progress.status(), delivered), (RequestStatus::Failed, 0));
    assert_eq!(progress.reason.as_deref(), Some("unknown segment \"vip\""));
    for recipients in [vec![user("anna"), segment("vip"), user("bob")], vec![segment("vip"), user("bob")]] {
        let expected = recipients.len() as u64 - 1;
        let request = NotificationRequest { recipients, ..mail_to(user("anna")) };
        let (progress, delivered) = sent(&fixture, &request).await;
        assert_eq!((progress.status(), delivered as u64), (RequestStatus::PartiallyFailed, expected));
        assert_eq!((progress.delivered, progress.failed), (expected, 1));
        assert_eq!(progress.reason.as_deref(), Some("unknown segment \"vip\""));
    }
}

pub async fn a_request_of_which_everything_is_skipped_is_undeliverable(fixture: NotificationFixture) {
    let request = NotificationRequest { channels: vec![Channel::Sms], ..mail_to(user("anna")) };
    let (progress, delivered) = sent(&fixture, &request).await;
    assert_eq!((progress.status(), progress.skipped), (RequestStatus::Undeliverable, 1));
    assert_eq!(delivered, 0);
}

pub async fn what_is_cancelled_after_its_fan_out_is_not_sent(fixture: NotificationFixture) {
    let request =
        NotificationRequest { recipients: vec![user("anna"), user("bob")], ..mail_to(user("anna")) };
    fixture.store.submit(std::slice::from_ref(&request)).await;
    run_all(&fixture.outbox.store, &fan_out(&fixture)).await;
    let cancelled = fixture.rival.requests.cancel(request.id).await.expect("cancel");
    assert_eq!(cancelled, Cancelled::Yes(CancelledMessages { messages: 2, ..CancelledMessages::default() }));
    let (progress, delivered) = worked(&fixture, &request).await;
    assert_eq!((progress.status(), progress.cancelled, delivered), (RequestStatus::Cancelled, 2, 0));
}

pub async fn a_message_that_comes_after_its_expiry_is_skipped(fixture: NotificationFixture) {
    let expires_at = Some(fixture.outbox.moment(60_000_000));
    let [late, early] = [(); 2].map(|()| NotificationRequest { expires_at, ..mail_to(user("anna")) });
    let (progress, delivered) = sent(&fixture, &early).await;
    assert_eq!((progress.delivered, delivered), (1, 1));
    fixture.store.submit(std::slice::from_ref(&late)).await;
    run_all(&fixture.outbox.store, &fan_out(&fixture)).await;
    fixture.outbox.advance(Duration::from_secs(61)).await;
    let (progress, delivered) = worked(&fixture, &late).await;
    assert_eq!((progress.status(), delivered), (RequestStatus::Undeliverable, 0));
    let records = fixture.rival.reports.messages(late.id, None, 9).await.expect("messages");
    assert_eq!(records[0].reason.as_ref().map(|reason| reason.as_str()), Some("expired"));
}

/// Hands a request in and works until nothing is left: how far it has come, and how often a provider was given a message of it.
async fn sent(fixture: &NotificationFixture, request: &NotificationRequest) -> (Progress, usize) {
    fixture.store.submit(std::slice::from_ref(request)).await;
    worked(fixture, request).await
}

async fn worked(fixture: &NotificationFixture, request: &NotificationRequest) -> (Progress, usize) {
    run_all(&fixture.outbox.store, &fan_out(fixture)).await;
    let deliveries = Deliveries::default();
    let channels = [Channel::Email, Channel::Push, Channel::Sms];
    let providers = channels
        .into_iter()
        .fold(Providers::new(), |all, channel| all.with(channel, Arc::new(deliveries.clone())));
    let messages = fixture.store.messages.clone();
    let handler = MessageHandler::new(messages, providers, MessageConfig::default()).expect("a handler");
    let queue = QueueName::new(MESSAGE_QUEUE).expect("a queue name");
    run_all(&fixture.outbox.rival.on(&queue), &handler).await;
    let progress = fixture.rival.reports.progress(request.id).await.expect("progress");
    (progress.expect("a request"), deliveries.of(request.id).len())
}

/// Handles everything that is due.
async fn run_all(side: &Instance, handler: &dyn Handler) {
    for claimed in side.take_all().await {
        let verdict = handler.handle(&claimed).await;
        let disposition = decide(verdict, claimed.attempt, &RetryPolicy::default(), 0);
        assert_eq!(side.settle(&claimed.receipt, disposition).await, Settled::Accepted);
    }
}

/// Fans out to the users anna and bob, who have an address for mail and one for push notifications.
fn fan_out(fixture: &NotificationFixture) -> RequestHandler {
    let directory = ["anna", "bob"].into_iter().fold(MemoryDirectory::new(), |directory, id| {
        let (email, device_token) = (Some(format!("{id}@example.com")), Some(id.to_owned()));
        directory.with_user(Recipient { email, device_token, ..Recipient::user(id) }).expect("a user")
    });
    let (requests, messages) = (fixture.store.requests.clone(), fixture.store.messages.clone());
    let (directory, templates) = (Arc::new(directory), Arc::new(MemoryTemplates::new("en")));
    RequestHandler::new(requests, messages, directory, templates, RequestConfig::default())
        .expect("a handler")
}

fn user(id: &str) -> RecipientReference {
    RecipientReference::User { user: id.into() }
}

fn segment(name: &str) -> RecipientReference {
    RecipientReference::Segment { segment: name.into() }
}
