//! Promise: a gateway whose templates omit attachments refuses a message that has some; what a gateway's body says counts as its status does
//! where the settings say so

use claimstream_channels::{GatewayChannel, GatewayConfig};
use claimstream_domain::notification::{
    Answer, Attachment, Channel, NotificationMessage, consent::Suppression,
};
use claimstream_ports::notification::{ChannelProvider, Delivered, DeliveryError};

use crate::{
    message::message,
    web_server::{Answer as Reply, WebServer},
};

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

async fn sent(reply: Reply, rows: &str, code: &str) -> Result<Delivered, DeliveryError> {
    let server = WebServer::start([reply]).await;
    let (answers, answer_code) = (rows.parse().unwrap(), Some(code.to_owned()));
    let reference = Some("/messages/0/id".to_owned());
    let config = GatewayConfig::post_json(&server.url("/sms"), r#"{"text": {{ body }}}"#);
    let config = GatewayConfig { environment_proxies: false, answers, answer_code, reference, ..config };
    GatewayChannel::new(config).unwrap().deliver(&message(Channel::Sms, "+491701234567")).await
}

/// In the shapes of Vonage, of a login page, and of Teams.
///
/// Guard: a body can take a 2xx back | src/http/judged_answer.rs `of`: the body is not read
#[tokio::test]
async fn a_2xx_whose_body_says_no_is_no_delivery() {
    const ROWS: &str = "2xx:0 = delivered, 2xx:1 = throttled, 2xx:7 = unsubscribed, 2xx = transient";
    let vonage =
        |status: u16, body: &'static str| sent(Reply::Refusal(status, body), ROWS, "/messages/0/status");
    let taken = vonage(200, r#"{"messages": [{"status": "0", "id": "m-1"}]}"#).await.unwrap();
    assert_eq!(taken.reference.as_deref(), Some("m-1"));
    let busy = vonage(200, r#"{"messages": [{"status": "1"}]}"#).await.unwrap_err();
    assert_eq!(busy.answer(), Answer::THROTTLED);
    assert!(busy.to_string().contains("HTTP 200") && busy.to_string().contains("throttled"), "{busy}");
    let stopped = vonage(200, r#"{"messages": [{"status": 7}]}"#).await.unwrap_err();
    assert_eq!(stopped.suppresses(), Some(Suppression::Unsubscribed));
    let page = vonage(200, "<html>Please log in</html>").await.unwrap_err();
    assert_eq!(page.answer(), Answer::LATER);
    let teams = "200 ~returned HTTP error 429 = throttled";
    let reply = Reply::Refusal(
        200,
        "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429",
    );
    assert_eq!(sent(reply, teams, "/code").await.unwrap_err().answer(), Answer::THROTTLED);
    sent(Reply::Refusal(200, "1"), teams, "/code").await.unwrap();
}

/// In the shapes of Twilio and Postmark.
#[tokio::test]
async fn a_refusal_whose_body_says_never_again_suppresses_the_address() {
    const ROWS: &str = "400:21610 = unsubscribed, 400:21211 = bounced, 422:406 = bounced";
    for (status, body, code, expected) in [
        (
            400,
            r#"{"code": 21610, "message": "unsubscribed recipient"}"#,
            "/code",
            Some(Suppression::Unsubscribed),
        ),
        (400, r#"{"code": 21211, "message": "invalid number"}"#, "/code", Some(Suppression::Bounced)),
        (400, r#"{"code": 21602, "message": "no body"}"#, "/code", None),
        (422, r#"{"ErrorCode": 406, "Message": "inactive"}"#, "/ErrorCode", Some(Suppression::Bounced)),
    ] {
        let error = sent(Reply::Refusal(status, body), ROWS, code).await.unwrap_err();
        assert_eq!((error.answer(), error.suppresses()), (Answer::REFUSED, expected), "{body}");
    }
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

/// In the shape of FCM, whose 404 may say that a token is not registered any more.
#[tokio::test]
async fn a_404_that_says_no_more_is_a_wrong_path() {
    const ROWS: &str = "404 ~unregistered = bounced";
    let unregistered = r#"{"error": {"details": [{"errorCode": "UNREGISTERED"}]}}"#;
    let gone = sent(Reply::Refusal(404, unregistered), ROWS, "/code").await.unwrap_err();
    assert_eq!((gone.answer(), gone.suppresses()), (Answer::REFUSED, Some(Suppression::Bounced)));
    let nowhere = sent(Reply::Refusal(404, "<html>Not Found</html>"), ROWS, "/code").await.unwrap_err();
    assert_eq!((nowhere.answer(), nowhere.suppresses()), (Answer::NO_SESSION, None));
    assert!(nowhere.speaks_against_provider(), "{nowhere:?}");
}

/// Guard: a gateway's template sees none of a recipient's other addresses | src/gateway/templates.rs `seen`: the message itself
#[tokio::test]
async fn a_recipient_given_by_several_addresses_is_named_to_a_gateway_by_that_one() {
    let server = WebServer::start([]).await;
    let config = GatewayConfig::post_json(&server.url("/mail"), r#"{"to": {{ recipient }}}"#);
    let gateway = GatewayChannel::new(GatewayConfig { environment_proxies: false, ..config }).unwrap();
    let recipient = "direct:Ann@example.com|+491701234567|||https://chat.example/s3cret".to_owned();
    let mail = message(Channel::Email, "Ann@example.com");
    gateway.deliver(&NotificationMessage { recipient, ..mail }).await.unwrap();
    let sent: serde_json::Value = serde_json::from_slice(&server.received()[0].body).unwrap();
    assert_eq!(sent["to"], "email:ann@example.com");
}
