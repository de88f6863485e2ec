//! Promise: messages of a category within a window are delivered once, together, and all their records show
//! it; urgent, cancelled and expired ones, and those with files or without consent, are not among them

use std::{sync::Arc, time::Duration};

use claimstream_domain::{
    QueueName,
    notification::{
        Channel, Content, DeliveryStatus, MESSAGE_QUEUE, NotificationMessage, NotificationRequest, Priority,
        REQUEST_QUEUE, RecipientReference, TemplateText,
        consent::{Category, ConsentRules},
    },
};
use claimstream_memory::MemoryTemplates;
use claimstream_notifications::{
    Consents, DigestRule, DigestRules, Digests, MessageHandler, RequestHandler, TemplateVariable,
};
use claimstream_ports::Handler;
use uuid::Uuid;

use super::consents::handle;
use crate::{
    NotificationFixture,
    fixture::{Deliveries, fan_out_to, mail_to},
    suite::{Case, cases},
};

pub const SCENARIOS: &[Case<NotificationFixture>] = cases!["scenarios" needs [Notifications]:
    many_messages_within_a_window_become_one_and_all_their_records_say_so,
    a_cancelled_request_is_not_in_the_digest_and_an_empty_digest_is_not_delivered,
    an_unsubscription_counts_for_a_digest_as_for_a_message,
    processes_that_end_before_they_settle_lose_nothing_and_double_nothing,
];

const WINDOW: Duration = Duration::from_secs(3600);

pub async fn many_messages_within_a_window_become_one_and_all_their_records_say_so(
    fixture: NotificationFixture,
) {
    let test = DigestTest::on(&fixture, Some("several"));
    let requests = [test.request("A"), test.request("B"), test.request("C")];
    for request in &requests {
        test.submit(request).await;
        fixture.outbox.advance(Duration::from_secs(60)).await;
    }
    let urgent = NotificationRequest { priority: Priority::High, ..test.request("now") };
    test.ports().submit(std::slice::from_ref(&urgent)).await;
    assert_eq!(handle(&fixture, Priority::High.request_queue(), &test.fan_out).await, 1);
    assert_eq!(handle(&fixture, Priority::High.message_queue(), &test.deliver).await, 1);
    assert_eq!(test.deliveries.of(urgent.id).len(), 1, "what is urgent waits for nothing");
    assert_eq!(test.deliver().await, 0, "the window is not over");
    assert_eq!(test.standing(requests[1].id).await, (DeliveryStatus::Pending, "part of a digest".into()));
    fixture.outbox.advance(WINDOW).await;
    assert_eq!(test.deliver().await, 1);
    let delivered = test.delivered(&requests);
    assert_eq!(delivered.len(), 1);
    let Content { title, body, .. } = &delivered[0].content;
    assert_eq!((title.as_deref(), body.as_deref()), (Some("3 news"), Some("A; B; C; ")));
    for request in &requests {
        let why = format!("in the digest {}, one of 3", delivered[0].id);
        assert_eq!(test.standing(request.id).await, (DeliveryStatus::Delivered, why));
    }
    let alone = test.request("alone");
    test.submit(&alone).await;
    fixture.outbox.advance(WINDOW).await;
    assert_eq!(test.deliver().await, 1);
    assert_eq!(test.delivered(&[alone])[0].content.title.as_deref(), Some("1 news"));
}

pub async fn a_cancelled_request_is_not_in_the_digest_and_an_empty_digest_is_not_delivered(
    fixture: NotificationFixture,
) {
    let test = DigestTest::on(&fixture, None);
    let (first, second) = (test.request("A"), test.request("B"));
    test.submit(&first).await;
    test.submit(&second).await;
    // The request that opened the digest goes, and the other one is delivered.
    fixture.rival.requests.cancel(first.id).await.expect("cancel");
    fixture.outbox.advance(WINDOW).await;
    assert_eq!(test.deliver().await, 1);
    let delivered = test.delivered(&[first.clone(), second.clone()]);
    let said: Vec<_> = delivered.iter().map(|message| message.content.clone()).collect();
    assert_eq!(said, [second.content.clone().expect("a content")]);
    assert_eq!(test.standing(first.id).await.0, DeliveryStatus::Cancelled);
    assert_eq!(test.standing(second.id).await.0, DeliveryStatus::Delivered);
    let (third, late) = (test.request("C"), fixture.outbox.moment(60_000_000));
    let late = NotificationRequest { expires_at: Some(late), ..test.request("D") };
    test.submit(&third).await;
    test.submit(&late).await;
    fixture.rival.requests.cancel(third.id).await.expect("cancel");
    fixture.outbox.advance(WINDOW).await;
    assert_eq!(test.deliver().await, 1);
    assert!(test.delivered(&[third, late.clone()]).is_empty());
    assert_eq!(test.standing(late.id).await, (DeliveryStatus::Skipped, "expired".into()));
}

pub async fn an_unsubscription_counts_for_a_digest_as_for_a_message(fixture: NotificationFixture) {
    let test = DigestTest::on(&fixture, None);
    let requests = [test.request("A"), test.request("B")];
    for request in &requests {
        test.submit(request).await;
    }
    let change = "email/news=off".parse().expect("a change");
    test.ports().preferences.change(&format!("user:{}", test.user), &[change]).await.expect("change");
    fixture.outbox.advance(WINDOW).await;
    assert_eq!(test.deliver().await, 1);
    assert!(test.delivered(&requests).is_empty());
    for request in &requests {
        let why = "opted out of email/news".to_owned();
        assert_eq!(test.standing(request.id).await, (DeliveryStatus::Skipped, why));
    }
}

pub async fn processes_that_end_before_they_settle_lose_nothing_and_double_nothing(
    fixture: NotificationFixture,
) {
    let test = DigestTest::on(&fixture, None);
    let requests = [test.request("A"), test.request("B")];
    test.ports().submit(&requests).await;
    let on = |queue: &str| fixture.outbox.store.on(&QueueName::new(queue).expect("a queue name"));
    // The fan-out is noted, with the digest; the process ends before its messages are settled, and their claims run out.
    for claimed in on(REQUEST_QUEUE).take_all().await {
        test.fan_out.handle(&claimed).await;
    }
    fixture.outbox.advance(WINDOW / 2).await;
    assert_eq!(handle(&fixture, REQUEST_QUEUE, &test.fan_out).await, 2);
    fixture.outbox.advance(WINDOW / 2).await;
    let claimed = on(MESSAGE_QUEUE).take_one().await;
    test.deliver.handle(&claimed).await;
    // Here too: what has been delivered is noted.
    fixture.outbox.advance(WINDOW).await;
    assert_eq!(test.deliver().await, 1);
    assert_eq!(test.delivered(&requests).len(), 1);
    for request in &requests {
        assert_eq!(test.standing(request.id).await.0, DeliveryStatus::Delivered);
    }
}

/// The handlers of a relay whose category `news` has digests, and one user.
struct DigestTest<'a> {
    fixture: &'a NotificationFixture,
    user: String,
    fan_out: RequestHandler,
    deliver: MessageHandler,
    deliveries: Deliveries,
}

impl<'a> DigestTest<'a> {
    fn on(fixture: &'a NotificationFixture, template: Option<&str>) -> Self {
        let (user, ports) = (Uuid::now_v7().to_string(), &fixture.store);
        let rule =
            DigestRule { template: template.map(str::to_owned), ..DigestRule::new(WINDOW).expect("a rule") };
        let rules = DigestRules { categories: [(news(), rule)].into() };
        let consents = Consents::new(ports.preferences.clone(), ConsentRules::default());
        let fan_out = fan_out_to(&user, ports.requests.clone(), ports.messages.clone());
        let deliveries = Deliveries::default();
        let digests = Digests::new(ports.digests.clone(), Arc::new(templates()), rules.clone());
        let deliver = deliveries.handler(ports.messages.clone()).with_attempt_log(ports.attempts.clone());
        let fan_out = fan_out.with_consents(consents.clone()).with_digests(rules);
        let deliver = deliver.with_consents(consents).with_digests(digests);
        Self { fixture, user, fan_out, deliver, deliveries }
    }

    fn ports(&self) -> &crate::NotificationPorts {
        &self.fixture.store
    }

    fn request(&self, title: &str) -> NotificationRequest {
        let content = Some(Content { title: Some(title.into()), ..Content::default() });
        let recipient = RecipientReference::User { user: self.user.clone() };
        NotificationRequest { category: Some(news()), content, ..mail_to(recipient) }
    }

    /// Hands a request in and fans it out.
    async fn submit(&self, request: &NotificationRequest) {
        self.ports().submit(std::slice::from_ref(request)).await;
        assert_eq!(handle(self.fixture, REQUEST_QUEUE, &self.fan_out).await, 1);
    }

    async fn deliver(&self) -> usize {
        handle(self.fixture, MESSAGE_QUEUE, &self.deliver).await
    }

    fn delivered(&self, requests: &[NotificationRequest]) -> Vec<NotificationMessage> {
        requests.iter().flat_map(|request| self.deliveries.of(request.id)).collect()
    }

    /// Where the only message of a request stands, and what is said of it.
    async fn standing(&self, request: Uuid) -> (DeliveryStatus, String) {
        let records = self.fixture.rival.reports.messages(request, None, 2).await.expect("records");
        assert_eq!(records.len(), 1);
        let reason = records[0].reason.as_ref().map(|reason| reason.as_str().to_owned());
        (records[0].status, reason.unwrap_or_default())
    }
}

fn news() -> Category {
    Category::new("news").expect("a category")
}

fn templates() -> MemoryTemplates {
    let body = "{% for item in items %}{{ item.title }}; {% endfor %}".to_owned();
    let text = TemplateText { title: Some("{{ count }} news".into()), body, html: None };
    let variables = ["items", "count"].map(|name| (name.to_owned(), TemplateVariable::default()));
    let templates = MemoryTemplates::new("en").with("several", Channel::Email, "en", text);
    templates.and_then(|all| all.with_variables("several", variables.into())).expect("a template")
}
