//! Promise: a gateway whose templates omit attachments refuses a message that has some

use claimstream_channels::{GatewayChannel, GatewayConfig};
use claimstream_domain::notification::{Attachment, Channel, NotificationMessage};
use claimstream_ports::notification::{ChannelProvider, DeliveryError};

use crate::{message::message, web_server::WebServer};

fn with_a_file() -> NotificationMessage {
    let mut message = message(Channel::Email, "ann@example.com");
    let url = "https://files.example.com/a.pdf".to_owned();
    message.content.attachments = vec![Attachment { url, name: "a.pdf".into(), content_type: None }];
    message
}

#[tokio::test]
async fn a_gateway_sends_attachments_if_its_templates_do_and_refuses_them_if_not() {
    let server = WebServer::start([]).await;
    let gateway = |body: &str| {
        let config = GatewayConfig::post_json(&server.url("/mail"), body);
        GatewayChannel::new(GatewayConfig { environment_proxies: false, ..config }).unwrap()
    };
    let silent = gateway(r#"{"text": {{ body }}}"#);
    let refused = silent.deliver(&with_a_file()).await;
    assert!(
        matches!(&refused, Err(DeliveryError::Permanent { reason }) if reason.contains("attachments")),
        "{refused:?}"
    );
    silent.deliver(&message(Channel::Email, "ann@example.com")).await.unwrap();
    let telling = gateway(r#"{"text": {{ body }}, "page": {{ html }}, "files": {{ attachments }}}"#);
    telling.deliver(&with_a_file()).await.unwrap();
    let received = server.received();
    let sent: serde_json::Value = serde_json::from_slice(&received[1].body).unwrap();
    assert_eq!(sent["files"][0]["url"], "https://files.example.com/a.pdf");
    assert!(sent["page"].is_null() && received.len() == 2);
}

#[tokio::test]
async fn a_mail_by_a_gateway_can_carry_the_link_that_opts_out() {
    let server = WebServer::start([]).await;
    let body = r#"{"text": {{ body }}{% if unsubscribe_url %}, "list": {{ "<" ~ unsubscribe_url ~ ">" }}{% endif %}}"#;
    let config = GatewayConfig::post_json(&server.url("/mail"), body);
    let gateway = GatewayChannel::new(GatewayConfig { environment_proxies: false, ..config }).unwrap();
    let plain = message(Channel::Email, "ann@example.com");
    let link = Some("https://shop.example/u/abc?d=1&e=2".to_owned());
    gateway.deliver(&plain).await.unwrap();
    gateway.deliver(&NotificationMessage { unsubscribe_url: link, ..plain }).await.unwrap();
    let sent: Vec<serde_json::Value> =
        server.received().iter().map(|one| serde_json::from_slice(&one.body).unwrap()).collect();
    assert!(sent[0].get("list").is_none(), "{sent:?}");
    assert_eq!(sent[1]["list"], "<https://shop.example/u/abc?d=1&e=2>");
}
