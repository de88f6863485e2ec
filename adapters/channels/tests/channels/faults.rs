//! Promise: a reply that is about our own host name, quota, rights or sender kills no mail; a webhook's endpoint that
//! is away for one deployment loses no message; a mail that was accepted in another charset is not sent again

use std::{sync::Arc, time::Duration};

use claimstream_channels::{Secret, SmtpChannel, SmtpConfig, WebhookChannel, WebhookConfig};
use claimstream_domain::notification::{Answer, AnswerClass, Channel, consent::Suppression};
use claimstream_ports::{
    mock::HandTimer,
    notification::{ChannelProvider, Delivered, DeliveryError},
};

use crate::{
    mail_server::{MailServer, Reply},
    message::{LONG, message},
    web_server::{Answer as HttpReply, WebServer},
};

fn smtp(server: &MailServer, rows: &str) -> SmtpChannel {
    let url = format!("smtp://{}", server.address());
    let config = SmtpConfig {
        connect_timeout: LONG,
        timeout: LONG,
        answers: rows.parse().unwrap(),
        ..SmtpConfig::new(url.parse().unwrap(), "Shop <no-reply@shop.example>")
    };
    SmtpChannel::new(config).unwrap().with_timer(Arc::new(HandTimer::default()))
}

async fn mailed(command: &'static str, reply: Reply, rows: &str) -> Result<Delivered, DeliveryError> {
    let server = MailServer::start([(command, reply)]).await;
    smtp(&server, rows).deliver(&message(Channel::Email, "ann@example.com")).await
}

fn webhook(rows: &str) -> WebhookConfig {
    WebhookConfig {
        reach: "true".parse().unwrap(),
        connect_timeout: LONG,
        timeout: LONG,
        environment_proxies: false,
        answers: rows.parse().unwrap(),
        answer_code: Some("/error/code".into()),
        ..WebhookConfig::default()
    }
}

async fn posted(reply: HttpReply, own_url: bool, rows: &str) -> Result<Delivered, DeliveryError> {
    let server = WebServer::start([reply]).await;
    let gateway = (!own_url).then(|| server.url("/hook").parse().unwrap());
    let channel = WebhookChannel::new(WebhookConfig { gateway, ..webhook(rows) }).unwrap();
    channel.deliver(&message(Channel::Webhook, &server.url("/own"))).await
}

#[tokio::test]
async fn a_reply_about_ourselves_asks_another_provider_counts_against_this_one_and_kills_no_mail() {
    let lines = [
        ("RCPT", "504 5.5.2 <shop>: Helo command rejected: need fully-qualified hostname"),
        ("MESSAGE", "550 5.4.5 Daily user sending limit exceeded"),
        ("RCPT", "554 5.7.1 <ann@example.com>: Relay access denied"),
        ("MAIL", "550 5.7.1 SPF check failed"),
        ("MESSAGE", "550 5.7.1 Message rejected: SPF fail"),
        ("MESSAGE", "554 Message rejected: Email address is not verified. Identities failed the check"),
        ("MAIL", "550 no such sender"),
    ];
    for (command, line) in lines {
        let error = mailed(command, Reply::Line(line), "").await.unwrap_err();
        assert_eq!(error.answer(), Answer::NO_SESSION, "{line}: {error:?}");
        assert!(error.speaks_against_provider() && error.to_string().contains(&line[..3]), "{error:?}");
    }
}

#[tokio::test]
async fn a_mailbox_that_does_not_exist_is_not_to_be_written_to_again() {
    let reply = Reply::Line("550 5.1.1 <ann@example.com>: unknown");
    let error = mailed("RCPT", reply, "").await.unwrap_err();
    assert_eq!((error.answer(), error.suppresses()), (Answer::REFUSED, Some(Suppression::Bounced)));
    assert!(error.to_string().ends_with("550 5.1.1 <***>: unknown"), "{error}");
}

/// Guard: the settings say what a reply means | src/smtp/mod.rs `judge`: `AnswerTable::smtp()` alone
#[tokio::test]
async fn a_row_of_the_settings_gives_a_reply_another_meaning() {
    let full = mailed("RCPT", Reply::Line("552 5.2.2 full"), "rcpt 5xx:5.2.2 = deferred").await;
    assert_eq!(full.unwrap_err().answer(), Answer::LATER);
    let rows = "end 554 ~duplicate = delivered";
    let double = mailed("MESSAGE", Reply::Line("554 duplicate message"), rows).await;
    assert_eq!(double.unwrap(), Delivered::default());
}

/// A reply in GBK or Latin-1 is a reply.
///
/// Guard: replies are read in any charset | src/smtp/ascii_replies.rs `poll_read`: bytes are left as they are
#[tokio::test]
async fn a_reply_that_is_no_utf_8_is_a_reply() {
    for bytes in [&b"250 2.0.0 \xd2\xd1\xbd\xd3\xca\xdc"[..], b"250 2.0.0 angenommen f\xfcr Zustellung"] {
        let server = MailServer::start([("MESSAGE", Reply::Bytes(bytes))]).await;
        let channel = smtp(&server, "");
        for _ in 0..2 {
            let delivered = channel.deliver(&message(Channel::Email, "ann@example.com")).await.unwrap();
            assert!(delivered.reference.unwrap().starts_with("2.0.0 "));
        }
        assert_eq!(server.seen().connections, 1);
    }
    let refused = mailed("RCPT", Reply::Bytes(b"550 5.1.1 Empf\xe4nger unbekannt"), "").await.unwrap_err();
    assert_eq!(refused.suppresses(), Some(Suppression::Bounced));
    let closed = mailed("GREETING", Reply::Bytes(b"554 gesch\xfctzt"), "").await.unwrap_err();
    assert_eq!(closed.answer(), Answer::NO_SESSION);
}

#[tokio::test]
async fn an_endpoint_that_is_away_for_a_deployment_gets_its_message_later() {
    for status in [302, 307, 400, 401, 403, 404, 405, 422] {
        for own_url in [true, false] {
            let error = posted(HttpReply::Status(status, &[]), own_url, "").await.unwrap_err();
            assert_ne!(error.answer().class, AnswerClass::Permanent, "{status}: {error:?}");
            assert!(!own_url || !error.speaks_against_provider(), "{status}: {error:?}");
        }
    }
    let later = posted(HttpReply::Status(404, &["retry-after: 5"]), true, "").await.unwrap_err();
    assert_eq!(later.retry_after(), Some(Duration::from_secs(5)));
}

#[tokio::test]
async fn an_endpoint_that_is_gone_ends_its_message_and_a_recipients_own_is_not_called_again() {
    for (own_url, suppressed) in [(true, Some(Suppression::Bounced)), (false, None)] {
        let error = posted(HttpReply::Status(410, &[]), own_url, "").await.unwrap_err();
        assert_eq!((error.answer(), error.suppresses()), (Answer::REFUSED, suppressed));
    }
}

/// Guard: the settings say what a webhook's answer means | src/webhook/poster.rs `deliver`: `usual` alone
#[tokio::test]
async fn a_row_of_the_settings_gives_an_answer_another_meaning() {
    let refused = posted(HttpReply::Status(404, &[]), true, "404 = permanent").await.unwrap_err();
    assert_eq!(refused.answer(), Answer::REFUSED);
    posted(HttpReply::Status(409, &[]), true, "409 = delivered").await.unwrap();
    let body = || HttpReply::Refusal(200, r#"{"error": {"code": "stopped"}}"#);
    let stopped = posted(body(), true, "200:stopped = unsubscribed").await.unwrap_err();
    assert_eq!(stopped.suppresses(), Some(Suppression::Unsubscribed));
    posted(body(), true, "200:other = unsubscribed").await.unwrap();
}

#[tokio::test]
async fn a_body_that_decides_and_breaks_off_leaves_the_message_in_doubt() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\":".to_vec();
    let error = posted(HttpReply::Raw(half), true, "2xx ~no = transient").await.unwrap_err();
    assert_eq!(error.answer(), Answer::LOST);
}

#[tokio::test]
async fn the_headers_of_svix_repeat_those_of_standard_webhooks_and_a_new_secret_signs_with_the_old_one() {
    let server = WebServer::start([]).await;
    let secret = Some(Secret::new("whsec_MTIzNDU\nold"));
    let channel = WebhookChannel::new(WebhookConfig { secret, svix_headers: true, ..webhook("") }).unwrap();
    channel.deliver(&message(Channel::Webhook, &server.url("/"))).await.unwrap();
    let received = server.received();
    let header = |name: &str| received[0].header(name).unwrap().to_owned();
    for name in ["id", "timestamp", "signature"] {
        assert_eq!(header(&format!("svix-{name}")), header(&format!("webhook-{name}")));
    }
    let signatures = header("webhook-signature");
    assert_eq!(signatures.split(' ').filter(|one| one.starts_with("v1,")).count(), 2, "{signatures}");
}
