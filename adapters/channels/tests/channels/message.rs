use std::time::Duration;

use claimstream_domain::notification::{Channel, Content, NotificationMessage, message_id};
use uuid::Uuid;

/// A message with every field set, for an address on a channel.
pub(crate) fn message(channel: Channel, address: &str) -> NotificationMessage {
    let request_id = Uuid::from_u128(7);
    NotificationMessage {
        id: message_id(request_id, channel, "user:ann"),
        request_id,
        channel,
        recipient: "user:ann".into(),
        address: address.into(),
        sender: None,
        expires_at: None,
        category: None,
        priority: Default::default(),
        unsubscribe_url: None,
        time_zone: None,
        content: Content {
            title: Some("Grüße".into()),
            body: Some("Your order is paid.".into()),
            redirect_url: Some("https://shop.example/orders/1".into()),
            image_url: Some("https://shop.example/1.png".into()),
            ..Content::default()
        },
        digest: None,
        traceparent: None,
    }
}

/// A limit that no test reaches by waiting, only by turning a timer.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);
