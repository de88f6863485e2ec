use claimstream_domain::notification::{
    Channel, Content, DirectRecipient, FanOutEnd, NotificationRecord, NotificationRequest, Progress,
    RecipientReference, Requester, RequesterKind, Submitted::New,
};
use claimstream_ports::notification::{FanOutStep, RequestRead, StepNoted};
use uuid::Uuid;

use crate::{NotificationFixture, NotificationPorts};

pub(super) async fn submitted(fixture: &NotificationFixture) -> Uuid {
    let request = plain_request(5);
    assert_eq!(fixture.store.submit(std::slice::from_ref(&request)).await, [New]);
    request.id
}

pub(super) async fn progress(fixture: &NotificationFixture, request: Uuid) -> Progress {
    fixture.rival.reports.progress(request).await.expect("progress").expect("a request")
}

/// A request that is read and is there.
pub(super) async fn read(ports: &NotificationPorts, request: Uuid) -> RequestRead {
    let read = ports.requests.read(&[request]).await.expect("read");
    read.into_iter().next().flatten().expect("a request")
}

/// A step of a fan-out.
pub(super) fn step(request: Uuid, end: FanOutEnd, records: &[NotificationRecord]) -> FanOutStep {
    FanOutStep {
        request,
        end,
        takes_up: false,
        erased_places: 0,
        flaw: None,
        records: records.to_vec(),
        items: vec![],
    }
}

/// Notes one step.
pub(super) async fn note(ports: &NotificationPorts, step: FanOutStep) -> StepNoted {
    let noted = ports.requests.note_steps(&[step]).await.expect("note");
    noted.into_iter().next().expect("an answer")
}

/// Keeps records of requests, which go on being processed; records of one request stand in a row.
pub(super) async fn keep(ports: &NotificationPorts, records: &[NotificationRecord]) {
    let of_request = records.chunk_by(|a, b| a.request_id == b.request_id);
    let steps: Vec<_> = of_request.map(|all| step(all[0].request_id, FanOutEnd::More, all)).collect();
    ports.requests.note_steps(&steps).await.expect("note");
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
            ..Content::default()
        }),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        expires_at: None,
        sender: Default::default(),
        category: None,
        priority: Default::default(),
        memo: Some(format!("memo {n}")),
        headers: Default::default(),
    }
}
