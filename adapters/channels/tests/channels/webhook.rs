use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use claimstream_channels::{Secret, WebhookChannel, WebhookConfig};
use claimstream_domain::notification::{
    AddressRule, Answer, Channel, Content, NotificationMessage, Priority,
};
use claimstream_ports::{
    mock::HandTimer,
    notification::{ChannelProvider, Delivered, DeliveryError},
};
use futures::future::join;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    message::{LONG, message},
    web_server::{Answer as Reply, Received, WebServer},
};

const SECRET: &str = "whsec-0123456789";
const PAGE: &str = include_str!("../../../../docs/providers.md");

/// No proxy of this machine's environment may stand between a test and the loopback.
fn config() -> WebhookConfig {
    WebhookConfig {
        secret: Some(Secret::new(SECRET)),
        connect_timeout: LONG,
        timeout: LONG,
        environment_proxies: false,
        reach: AddressRule::Private,
        ..WebhookConfig::default()
    }
}

async fn deliver(to: &str) -> Result<Delivered, DeliveryError> {
    WebhookChannel::new(config()).unwrap().deliver(&message(Channel::Webhook, to)).await
}

async fn answered(answer: Reply) -> Result<Delivered, DeliveryError> {
    let server = WebServer::start([answer]).await;
    let outcome = deliver(&server.url("/hook")).await;
    assert_eq!(server.received().len(), 1, "one attempt is one request");
    outcome
}

/// What a failure means, its reason, and the wait that was asked for.
fn failed(outcome: Result<Delivered, DeliveryError>) -> (Answer, String, Option<Duration>) {
    let error = outcome.expect_err("a failure");
    (error.answer(), error.to_string(), error.retry_after())
}

fn permanent(outcome: Result<Delivered, DeliveryError>) -> String {
    match outcome {
        Err(DeliveryError::Permanent { reason }) => reason,
        other => panic!("not permanent: {other:?}"),
    }
}

/// The time of this machine, in seconds.
fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// RFC 2104 from its definition, for keys of up to a block: H(K ^ opad, H(K ^ ipad, text)).
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let padded = |pad: u8| -> Vec<u8> {
        let key = key.iter().copied().chain(std::iter::repeat(0)).take(64);
        key.map(|byte| byte ^ pad).collect()
    };
    let inner = Sha256::digest([padded(0x36), text.to_vec()].concat());
    Sha256::digest([padded(0x5c), inner.to_vec()].concat()).to_vec()
}

fn expected_signature(request: &Received) -> String {
    let timestamp = request.header("x-claimstream-timestamp").unwrap();
    let signed = [timestamp.as_bytes(), b".", &request.body].concat();
    let hex: String = hmac(SECRET.as_bytes(), &signed).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v1={hex}")
}

#[tokio::test]
async fn a_message_is_posted_to_its_own_address_signed_and_with_its_id_as_key() {
    let server = WebServer::start([]).await;
    let sent = message(Channel::Webhook, &server.url("/hook?token=1"));
    let before = unix_time();
    WebhookChannel::new(config()).unwrap().deliver(&sent).await.unwrap();
    let [request] = &server.received()[..] else { panic!("not one request") };
    assert_eq!(request.line, "POST /hook?token=1 HTTP/1.1");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("idempotency-key"), Some(sent.id.to_string().as_str()));
    assert_eq!(serde_json::from_slice::<NotificationMessage>(&request.body).unwrap(), sent);
    assert_eq!(request.header("x-claimstream-signature"), Some(expected_signature(request).as_str()));
    assert_eq!(request.header("webhook-id"), request.header("idempotency-key"));
    assert_eq!(request.header("webhook-timestamp"), request.header("x-claimstream-timestamp"));
    assert!(request.header("webhook-signature").is_some_and(|text| text.starts_with("v1,")));
    let timestamp: u64 = request.header("x-claimstream-timestamp").unwrap().parse().unwrap();
    assert!((before..=unix_time()).contains(&timestamp));
}

/// The page shows a body with every field that there is; this is what arrives.
#[tokio::test]
async fn the_body_is_the_one_that_the_page_shows() {
    let section =
        PAGE.split("\n## ").find(|section| section.starts_with("Webhooks and their signature")).unwrap();
    let shown = section.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    let server = WebServer::start([]).await;
    let (sent, gateway) = (serde_json::from_value(shown.clone()).unwrap(), server.url("/").parse().unwrap());
    let config = WebhookConfig { gateway: Some(gateway), ..config() };
    WebhookChannel::new(config).unwrap().deliver(&sent).await.unwrap();
    let [request] = &server.received()[..] else { panic!("not one request") };
    assert_eq!(serde_json::from_slice::<Value>(&request.body).unwrap(), shown);
    assert!(is_full(&sent), "the page leaves a field out: {sent:?}");
    let ours = ["idempotency-key", "webhook-id", "webhook-timestamp", "webhook-signature"];
    for name in ours.into_iter().chain(["x-claimstream-timestamp", "x-claimstream-signature"]) {
        let is_shown = section.to_lowercase().contains(&format!("`{name}`"));
        assert!(request.header(name).is_some() && is_shown, "{name}");
    }
}

/// Whether every field has a value that is written; a new field does not compile here.
fn is_full(message: &NotificationMessage) -> bool {
    let NotificationMessage {
        id: _,
        request_id: _,
        channel: _,
        recipient: _,
        address: _,
        category,
        priority,
        unsubscribe_url,
        time_zone,
        content,
        sender,
        expires_at,
        digest,
        traceparent: _,
    } = message;
    let Content { title, body, html, redirect_url, image_url, attachments } = content;
    let texts =
        [unsubscribe_url, title, body, html, redirect_url, image_url].into_iter().all(Option::is_some);
    let rest = category.is_some() && time_zone.is_some() && sender.is_some() && expires_at.is_some();
    texts && rest && digest.is_some() && *priority != Priority::Normal && !attachments.is_empty()
}

#[tokio::test]
async fn a_gateway_gets_every_message_whatever_its_address() {
    let server = WebServer::start([]).await;
    let gateway = Some(server.url("/sms").parse().unwrap());
    let channel = WebhookChannel::new(WebhookConfig { gateway, secret: None, ..config() }).unwrap();
    for address in ["+491", "+492"] {
        channel.deliver(&message(Channel::Sms, address)).await.unwrap();
    }
    let received = server.received();
    let addresses: Vec<_> = received
        .iter()
        .map(|r| serde_json::from_slice::<NotificationMessage>(&r.body).unwrap().address)
        .collect();
    assert_eq!(addresses, ["+491", "+492"]);
    assert!(received.iter().all(|r| r.header("x-claimstream-signature").is_none()));
}

/// Guard: a webhook's host is shown none of a recipient's other addresses | src/webhook/mod.rs `deliver`: the message
/// itself is written
#[tokio::test]
async fn a_recipient_given_by_several_addresses_is_named_to_a_webhook_by_that_one() {
    let server = WebServer::start([]).await;
    let url = server.url("/hook");
    let mut to_ann = message(Channel::Webhook, &url);
    to_ann.recipient =
        format!("direct:ann@example.com|+491701234567|t0ken|{url}|https://chat.example/s3cret");
    let channel = WebhookChannel::new(config()).unwrap();
    channel.deliver(&to_ann).await.unwrap();
    channel.deliver(&message(Channel::Webhook, &url)).await.unwrap();
    let received = server.received();
    let shown = |at: usize| serde_json::from_slice::<Value>(&received[at].body).unwrap()["recipient"].clone();
    assert_eq!((shown(0), shown(1)), (format!("webhook:{url}").into(), "user:ann".into()));
    let body = String::from_utf8_lossy(&received[0].body);
    for other in ["ann@example.com", "+491701234567", "t0ken", "s3cret"] {
        assert!(!body.contains(other), "{body}");
    }
}

#[tokio::test]
async fn a_message_that_comes_again_bears_the_same_key() {
    let server = WebServer::start([Reply::Status(503, &[])]).await;
    assert!(deliver(&server.url("/hook")).await.is_err());
    assert!(deliver(&server.url("/hook")).await.is_ok());
    let keys: Vec<_> =
        server.received().iter().map(|r| r.header("idempotency-key").map(str::to_owned)).collect();
    assert!(keys.len() == 2 && keys[0] == keys[1] && keys[0].is_some());
}

#[tokio::test]
async fn success_is_delivered_with_the_answers_own_id_if_it_has_one() {
    let reference = |reference: Option<&str>| Ok(Delivered { reference: reference.map(str::to_owned) });
    assert_eq!(answered(Reply::Status(200, &["X-Request-Id: r-1"])).await, reference(Some("r-1")));
    assert_eq!(answered(Reply::Status(202, &[])).await, reference(None));
    assert_eq!(answered(Reply::Status(204, &["x-request-id:  "])).await, reference(None));
}

/// Each recipient may have a server of its own, and each connection takes a descriptor.
/// Guard: connections to recipients are kept for a second | src/http/client.rs: `IDLE_TO_MANY` is 90 s
#[tokio::test]
async fn a_connection_is_kept_for_a_moment_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let channel = WebhookChannel::new(config()).unwrap();
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"}") {
            assert!(stream.read_buf(&mut asked).await.unwrap() > 0);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        stream
    };
    let message = message(Channel::Webhook, &url);
    let (delivered, mut stream) = tokio::join!(channel.deliver(&message), server);
    delivered.unwrap();
    // From here on time passes where nothing else happens, and the client closes the connection by it.
    tokio::time::pause();
    let idle_since = tokio::time::Instant::now();
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    assert!(idle_since.elapsed() < Duration::from_secs(5), "it is kept for long: {:?}", idle_since.elapsed());
}

#[tokio::test]
async fn a_redirect_is_never_followed() {
    let elsewhere = WebServer::start([]).await;
    for code in [301, 302, 303, 307, 308] {
        let location: &'static [&'static str] =
            vec![&*format!("location: {}", elsewhere.url("/")).leak()].leak();
        let (answer, reason, _) = failed(answered(Reply::Status(code, location)).await);
        assert_eq!(answer, Answer::LATER);
        assert!(reason.starts_with(&format!("HTTP {code} from http://127.0.0.1:")), "{reason}");
    }
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn servers_in_trouble_are_tried_again() {
    let codes = [
        (408, Answer::LATER),
        (429, Answer::THROTTLED),
        (500, Answer::LOST),
        (502, Answer::LOST),
        (503, Answer::LATER),
        (504, Answer::LOST),
    ];
    for (code, expected) in codes {
        let (answer, reason, retry_after) = failed(answered(Reply::Status(code, &[])).await);
        assert_eq!(answer, expected, "{code}");
        assert!(reason.starts_with(&format!("HTTP {code} from http://127.0.0.1:")), "{reason}");
        assert_eq!(retry_after, None);
    }
}

#[tokio::test]
async fn retry_after_is_honoured_in_seconds_and_as_a_date_and_up_to_a_day() {
    let seconds = |answer| async { failed(answered(answer).await).2.map(|wait| wait.as_secs()) };
    assert_eq!(seconds(Reply::Status(429, &["Retry-After: 120"])).await, Some(120));
    assert_eq!(seconds(Reply::Status(503, &["retry-after: 999999"])).await, Some(86_400));
    assert_eq!(
        seconds(Reply::Status(429, &["retry-after: Fri, 31 Dec 9999 23:59:59 GMT"])).await,
        Some(86_400)
    );
    assert_eq!(seconds(Reply::Status(429, &["retry-after: Sun, 06 Nov 1994 08:49:37 GMT"])).await, None);
}

#[tokio::test]
async fn silence_ends_with_the_timeout_and_is_tried_again() {
    let server = WebServer::start([Reply::Silence]).await;
    let timer = HandTimer::default();
    let channel = WebhookChannel::new(config()).unwrap().with_timer(Arc::new(timer.clone()));
    let message = message(Channel::Webhook, &server.url("/"));
    let time_passes = async {
        server.asked().await;
        assert_eq!(timer.next_wakeup(), Some(LONG));
        timer.advance(LONG);
    };
    let (answer, reason, _) = failed(join(channel.deliver(&message), time_passes).await.0);
    assert_eq!(answer, Answer::LOST);
    assert!(
        reason.starts_with("no answer from http://127.0.0.1:") && reason.ends_with("within 3600s"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_the_message_in_doubt_and_one_that_is_refused_does_not() {
    for answer in [Reply::Close, Reply::Reset] {
        let (meaning, reason, _) = failed(answered(answer).await);
        assert_eq!(meaning, Answer::LOST);
        assert!(reason.starts_with("the connection to http://127.0.0.1:"), "{reason}");
    }
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (answer, reason, _) = failed(deliver(&format!("http://{free}/")).await);
    assert_eq!(answer, Answer::NO_SESSION);
    assert!(reason.starts_with(&format!("no connection to http://{free}")), "{reason}");
}

#[tokio::test]
async fn no_reason_gives_a_secret_away() {
    let server = WebServer::start([Reply::Status(400, &[]), Reply::Close, Reply::Status(503, &[])]).await;
    let url = server.url("/path-key?token=query-key").replace("http://", "http://ann:user-key@");
    for _ in 0..3 {
        let reason = deliver(&url).await.unwrap_err().to_string();
        for secret in ["path-key", "query-key", "user-key", "ann", SECRET] {
            assert!(!reason.contains(secret), "{reason}");
        }
    }
    let channel = format!("{:?}", WebhookChannel::new(config()).unwrap());
    assert!(channel.contains("WebhookConfig") && !channel.contains(SECRET), "{channel}");
}

#[tokio::test]
async fn an_address_that_is_no_url_is_refused_for_good_and_not_repeated() {
    for address in ["", "ann@example.com", "ftp://ann:key@example.com/", "http://"] {
        let reason = permanent(deliver(address).await);
        assert!(reason.contains("webhook URL") && !reason.contains("ann"), "{reason}");
    }
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let refused = |config: WebhookConfig| WebhookChannel::new(config).unwrap_err().to_string();
    assert!(refused(WebhookConfig { timeout: Duration::ZERO, ..config() }).contains("webhook timeout"));
    assert!(
        refused(WebhookConfig { connect_timeout: Duration::ZERO, ..config() }).contains("longer than zero")
    );
    assert!(refused(WebhookConfig { secret: Some(Secret::new("")), ..config() }).contains("secret"));
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn https_speaks_tls_and_sends_nothing_before() {
    use tokio::io::AsyncReadExt;

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let first = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = [0; 3];
        stream.read_exact(&mut bytes).await.unwrap();
        bytes
    });
    assert_eq!(failed(deliver(&url).await).0, Answer::NO_SESSION);
    // A handshake record of TLS, whose version field says 3.1 for compatibility (RFC 8446, section 5.1).
    assert_eq!(first.await.unwrap(), [0x16, 3, 1]);
}

#[cfg(not(feature = "tls"))]
#[tokio::test]
async fn https_without_tls_is_refused_by_the_features_name() {
    assert!(permanent(deliver("https://localhost/").await).contains("feature tls"));
}
