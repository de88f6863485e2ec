//! Promise: a consent that changes between the fan-out and the delivery counts, and an urgent request does
//! not wait for a campaign

use std::time::Duration;

use claimstream_domain::{
    Disposition, QueueName, RetryPolicy, Settlement, decide,
    notification::{NotificationRequest, Priority, RecipientReference, consent::ConsentRules},
};
use claimstream_notifications::Consents;
use claimstream_ports::Handler;

use crate::{
    NotificationFixture,
    fixture::{Deliveries, fan_out_to, mail_to},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<NotificationFixture>] = cases!["scenarios" needs [Notifications]:
    what_is_urgent_waits_for_nothing_of_a_campaign,
    what_is_said_after_the_fan_out_counts_before_the_delivery,
];

const CAMPAIGN: usize = 300;

/// The requests and the messages of a campaign are all due before it, and none of them is handled.
pub async fn what_is_urgent_waits_for_nothing_of_a_campaign(fixture: NotificationFixture) {
    let campaign: Vec<_> = (0..CAMPAIGN).map(|_| request(Priority::Low)).collect();
    fixture.store.submit(&campaign).await;
    let code = request(Priority::High);
    fixture.store.submit(std::slice::from_ref(&code)).await;
    let deliveries = Deliveries::default();
    let ports = &fixture.store;
    let fan_out = fan_out_to("u-1", ports.requests.clone(), ports.messages.clone());
    let deliver = deliveries.handler(ports.messages.clone());
    assert_eq!(handle(&fixture, Priority::High.request_queue(), &fan_out).await, 1);
    assert_eq!(handle(&fixture, Priority::High.message_queue(), &deliver).await, 1);
    assert_eq!(deliveries.of(code.id).len(), 1);
    assert!(campaign.iter().all(|request| deliveries.of(request.id).is_empty()));
    let waiting = fixture.outbox.store.on(&queue(Priority::Low.request_queue()));
    assert_eq!(waiting.status().await.map_or(0, |status| status.depth), CAMPAIGN as u64);
}

/// An address that bounces between the fan-out and the delivery gets nothing, and the record says why.
pub async fn what_is_said_after_the_fan_out_counts_before_the_delivery(fixture: NotificationFixture) {
    let ports = &fixture.store;
    let requests = [request(Priority::High), request(Priority::High)];
    ports.submit(&requests).await;
    let consents = || Consents::new(ports.preferences.clone(), ConsentRules::default());
    let deliveries = Deliveries::default();
    let fan_out = fan_out_to("u-1", ports.requests.clone(), ports.messages.clone()).with_consents(consents());
    let deliver = deliveries.handler(ports.messages.clone()).with_consents(consents());
    assert_eq!(handle(&fixture, Priority::High.request_queue(), &fan_out).await, 2);
    let recipient = &preferences_of(&requests[0]);
    ports.preferences.change(recipient, &["any/any=off".parse().expect("a change")]).await.expect("change");
    assert_eq!(handle(&fixture, Priority::High.message_queue(), &deliver).await, 2);
    assert!(deliveries.of(requests[0].id).is_empty());
    assert_eq!(deliveries.of(requests[1].id).len(), 1);
    let records = fixture.rival.reports.messages(requests[0].id, None, 10).await.expect("records");
    let reasons: Vec<_> = records.iter().map(|one| one.reason.as_ref().map(|why| why.as_str())).collect();
    assert_eq!(reasons, [Some("opted out of any/any")]);
    let progress =
        fixture.rival.reports.progress(requests[0].id).await.expect("progress").expect("a request");
    assert_eq!((progress.skipped, progress.pending, progress.is_settled()), (1, 0, true));
}

fn request(priority: Priority) -> NotificationRequest {
    let email = Some(format!("{}@example.com", uuid::Uuid::now_v7()));
    let direct = claimstream_domain::notification::DirectRecipient { email, ..Default::default() };
    NotificationRequest { priority, ..mail_to(RecipientReference::Direct(direct)) }
}

/// The key of the preferences of a request's only recipient.
fn preferences_of(request: &NotificationRequest) -> String {
    match &request.recipients[0] {
        RecipientReference::Direct(direct) => {
            format!("email:{}", direct.email.as_deref().unwrap_or_default())
        }
        other => panic!("given by address: {other:?}"),
    }
}

fn queue(name: &str) -> QueueName {
    QueueName::new(name).expect("a queue name")
}

/// Handles all that is due in a queue and settles it; answers how much that was.
pub(super) async fn handle(fixture: &NotificationFixture, name: &str, handler: &dyn Handler) -> usize {
    fixture.outbox.advance(Duration::from_millis(1)).await;
    let instance = fixture.outbox.store.on(&queue(name));
    let claimed = instance.take_all().await;
    for claimed in &claimed {
        let verdict = handler.handle(claimed).await;
        let disposition = decide(verdict, claimed.attempt, &RetryPolicy::default(), 0);
        assert!(matches!(disposition, Disposition::Done { .. }), "{disposition:?}");
        instance.settle_all(&[Settlement { receipt: claimed.receipt.clone(), disposition }]).await;
    }
    claimed.len()
}
