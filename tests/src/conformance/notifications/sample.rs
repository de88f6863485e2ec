use claimstream_domain::{
    Enqueued::New,
    notification::{
        Channel, Content, DirectRecipient, NotificationRequest, Progress, RecipientReference, Requester,
        RequesterKind,
    },
};
use uuid::Uuid;

use crate::NotificationFixture;

pub(super) async fn submitted(fixture: &NotificationFixture) -> Uuid {
    let request = plain_request(5);
    assert_eq!(fixture.store.submit(std::slice::from_ref(&request)).await, [New]);
    request.id
}

pub(super) async fn progress(fixture: &NotificationFixture, request: Uuid) -> Progress {
    fixture.rival.reports.progress(request).await.expect("progress").expect("a request")
}

pub(super) fn plain_request(n: u32) -> NotificationRequest {
    NotificationRequest {
        id: Uuid::now_v7(),
        requester: Requester { kind: RequesterKind::Service, id: format!("shop-{n}") },
        recipients: vec![
            RecipientReference::User { user: format!("user-{n}") },
            RecipientReference::Segment { segment: "vip".into() },
            RecipientReference::Direct(DirectRecipient {
                email: Some("jürgen@example.com".into()),
                language: Some("de".into()),
                ..DirectRecipient::default()
            }),
        ],
        channels: vec![Channel::Push, Channel::Email],
        content: Some(Content {
            title: Some(format!("title {n}")),
            body: Some("body \u{1f4ec}".into()),
            redirect_url: Some("https://example.com/r".into()),
            image_url: Some("https://example.com/i.png".into()),
        }),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        memo: Some(format!("memo {n}")),
        headers: Default::default(),
    }
}
