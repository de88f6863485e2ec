use std::time::Duration;

use claimstream_domain::{
    ClaimId, Claimed, Headers, InstanceId, Locator, Message, MessageId, Payload, QueueName, Receipt, Shard,
    notification::{
        Channel, Content, FanOut, NotificationMessage, NotificationRequest, Recipient, RecipientReference,
        Requester, RequesterKind,
    },
};
use claimstream_ports::{StoreError, StoreErrorKind};
use uuid::Uuid;

pub(super) const REQUEST: Uuid = Uuid::from_u128(0x7e57);

/// A request with content, for no recipient yet.
pub(super) fn request(channels: &[Channel], recipients: Vec<RecipientReference>) -> NotificationRequest {
    NotificationRequest {
        id: REQUEST,
        requester: Requester { kind: RequesterKind::Service, id: "shop".into() },
        recipients,
        channels: channels.to_vec(),
        content: Some(Content { title: Some("Hello".into()), ..Content::default() }),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        expires_at: None,
        sender: Default::default(),
        category: None,
        priority: Default::default(),
        memo: None,
        headers: Default::default(),
    }
}

pub(super) fn user(id: &str) -> RecipientReference {
    RecipientReference::User { user: id.into() }
}

pub(super) fn segment(name: &str) -> RecipientReference {
    RecipientReference::Segment { segment: name.into() }
}

/// A user with an e-mail address and a push token.
pub(super) fn reachable(id: &str) -> Recipient {
    Recipient {
        email: Some(format!("{id}@example.com")),
        device_token: Some(format!("token-{id}")),
        ..Recipient::user(id)
    }
}

pub(super) fn notification() -> NotificationMessage {
    NotificationMessage {
        id: Uuid::from_u128(9),
        request_id: REQUEST,
        channel: Channel::Email,
        recipient: "user:a".into(),
        address: "a@example.com".into(),
        category: None,
        priority: Default::default(),
        unsubscribe_url: None,
        time_zone: None,
        content: Content { title: Some("Hello".into()), ..Content::default() },
        sender: None,
        expires_at: None,
        digest: None,
        traceparent: None,
    }
}

/// The claim of a step of a fan-out.
pub(super) fn claimed_step(checkpoint: FanOut, attempt: u32) -> Claimed {
    claimed(
        "notification-requests",
        Payload::json(serde_json::to_vec(&checkpoint).unwrap_or_default()),
        attempt,
    )
}

/// The claim of a notification message.
pub(super) fn claimed_message(message: &NotificationMessage, attempt: u32) -> Claimed {
    claimed("notification-messages", Payload::json(serde_json::to_vec(message).unwrap_or_default()), attempt)
}

/// The claim of any payload.
pub(super) fn claimed(queue: &str, payload: Payload, attempt: u32) -> Claimed {
    let id = MessageId::new(Uuid::from_u128(3));
    let queue = QueueName::new(queue).expect("a queue name");
    let shard = Shard::from_number(1);
    let mut headers = Headers::new();
    headers.insert("x-trace", "t-1").expect("a header");
    let claim = ClaimId::new(InstanceId(1), 1);
    let receipt = Receipt { message: id, queue: queue.clone(), shard, claim, locator: Locator(5) };
    let message = Message { id, queue, shard, ordering_key: None, headers, payload };
    Claimed { message, receipt, attempt, last_error: None, place: Default::default(), waited: Duration::ZERO }
}

pub(super) fn down(operation: &'static str) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, operation, "the store is down")
}
