//! Promise: a mail carries the files that its request names, within limits of bytes, time and addresses, or
//! is not sent; a file's server counts against no provider

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use claimstream_channels::{AttachmentConfig, SmtpChannel, SmtpConfig};
use claimstream_domain::notification::{AddressRule, Attachment, Channel, NotificationMessage};
use claimstream_ports::{
    Timer,
    mock::HandTimer,
    notification::{ChannelProvider, Delivered, DeliveryError},
};
use futures::future::join;

use crate::{
    mail_server::MailServer,
    message::{LONG, message},
    web_server::{Answer, WebServer},
};

/// Files of this machine, by http.
fn bounds() -> AttachmentConfig {
    AttachmentConfig {
        max_bytes: 1_000,
        max_bytes_in_all: 1_500,
        plain_http: true,
        reach: AddressRule::Private,
        environment_proxies: false,
        timeout: LONG,
        connect_timeout: LONG,
        ..AttachmentConfig::default()
    }
}

fn channel(mails: &MailServer, attachments: AttachmentConfig) -> SmtpChannel {
    channel_by(&HandTimer::default(), mails, attachments)
}

fn channel_by(timer: &HandTimer, mails: &MailServer, attachments: AttachmentConfig) -> SmtpChannel {
    let server = format!("smtp://{}", mails.address()).parse().unwrap();
    let config = SmtpConfig::new(server, "Shop <no-reply@shop.example>");
    let config = SmtpConfig { attachments, connect_timeout: LONG, timeout: LONG, ..config };
    SmtpChannel::new(config).unwrap().with_timer(Arc::new(timer.clone()))
}

fn mail_with(files: &[(&str, &str, Option<&str>)]) -> NotificationMessage {
    let mut mail = message(Channel::Email, "ann@example.com");
    let attachment = |(url, name, kind): &(&str, &str, Option<&str>)| Attachment {
        url: (*url).to_owned(),
        name: (*name).to_owned(),
        content_type: kind.map(str::to_owned),
    };
    mail.content.attachments = files.iter().map(attachment).collect();
    mail
}

/// What came of a mail with one file that its server answers so. A silence lasts as long as a file may take.
async fn answered(answer: Answer) -> Result<Delivered, DeliveryError> {
    let (timer, is_silent) = (HandTimer::default(), matches!(answer, Answer::Silence));
    let (files, mails) = (WebServer::start([answer]).await, MailServer::start([]).await);
    let mail = mail_with(&[(&files.url("/a?key=k"), "a.pdf", None)]);
    let time_passes = async {
        files.asked().await;
        if is_silent {
            timer.advance(LONG);
        }
    };
    let channel = channel_by(&timer, &mails, bounds());
    let (outcome, ()) = join(channel.deliver(&mail), time_passes).await;
    assert_eq!(mails.seen().mails.len(), usize::from(outcome.is_ok()), "no mail goes without its file");
    assert!(outcome.is_ok() || mails.seen().connections == 0, "the mail server is not asked");
    outcome
}

fn permanent(outcome: Result<Delivered, DeliveryError>) -> String {
    match outcome {
        Err(DeliveryError::Permanent { reason }) => reason,
        other => panic!("not refused for good: {other:?}"),
    }
}

fn not_ready(outcome: Result<Delivered, DeliveryError>) -> (String, Option<Duration>) {
    match outcome {
        Err(DeliveryError::NotReady { reason, retry_after }) => (reason, retry_after),
        other => panic!("not put off: {other:?}"),
    }
}

#[tokio::test]
async fn files_are_fetched_and_stand_behind_the_text_in_their_order() {
    let files = WebServer::start([
        Answer::Body(&["content-type: text/html"], b"%PDF-1".to_vec()),
        Answer::Body(&["content-type: text/csv"], b"a;b".to_vec()),
    ])
    .await;
    let mails = MailServer::start([]).await;
    let (pdf, csv) = (files.url("/1.pdf"), files.url("/2"));
    let mail = mail_with(&[(&pdf, "März.pdf", Some("application/pdf")), (&csv, "b.csv", None)]);
    channel(&mails, bounds()).deliver(&mail).await.unwrap();
    let sent = mails.seen().mails.concat();
    let at = |text: &str| sent.find(text).unwrap_or_else(|| panic!("no {text:?} in {sent}"));
    assert!(at("multipart/mixed") < at("text/plain") && at("text/plain") < at("application/pdf"));
    assert!(at("application/pdf") < at("text/csv"));
    assert!(sent.contains("JVBERi0x") && sent.contains("filename=\"b.csv\""), "{sent}");
    let requests = files.received();
    assert_eq!(requests[0].line, "GET /1.pdf HTTP/1.1");
    assert_eq!(requests[0].header("accept-encoding"), Some("identity"));
}

/// Guard: a server that is away for a deployment puts the mail off | src/attachments/mod.rs `refused`: 404 is refused as 410 is
#[tokio::test]
async fn a_server_that_is_away_puts_the_mail_off_and_one_whose_file_is_gone_ends_it() {
    for code in [410, 204, 206] {
        let reason = permanent(answered(Answer::Status(code, &[])).await);
        assert!(
            reason.starts_with(&format!("the attachment \"a.pdf\": HTTP {code} from http://127")),
            "{reason}"
        );
        assert!(!reason.contains("key"), "{reason}");
    }
    for code in [400, 401, 403, 404, 408, 425, 500, 502, 503, 504] {
        let (reason, retry_after) = not_ready(answered(Answer::Status(code, &[])).await);
        assert!(retry_after.is_none() && !reason.contains("key"), "{reason}");
        assert!(
            reason.starts_with(&format!("the attachment \"a.pdf\": HTTP {code} from http://127")),
            "{reason}"
        );
    }
    let redirect = Answer::Status(302, &["location: http://127.0.0.1/"]);
    let (redirect, _) = not_ready(answered(redirect).await);
    assert!(redirect.ends_with("redirects are not followed"), "{redirect}");
    for code in [404, 429] {
        let busy = not_ready(answered(Answer::Status(code, &["retry-after: 90"])).await);
        assert_eq!(busy.1, Some(Duration::from_secs(90)));
    }
}

/// Guard: a file that is too long ends while it is read | src/attachments/mod.rs `read`: `Content-Length`
/// alone is looked at
#[tokio::test]
async fn a_server_that_misbehaves_sends_no_half_file() {
    for answer in [
        Answer::Silence,
        Answer::Close,
        Answer::Reset,
        Answer::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec()),
        Answer::Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_vec()),
        Answer::Raw(b"SSH-2.0-OpenSSH\r\n".to_vec()),
    ] {
        let (reason, _) = not_ready(answered(answer).await);
        assert!(reason.contains("attachment"), "{reason}");
    }
    for body in [
        [b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n".to_vec(), vec![b'x'; 10]].concat(),
        [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec(), vec![b'x'; 5_000]].concat(),
    ] {
        let reason = permanent(answered(Answer::Raw(body)).await);
        assert!(
            reason.ends_with("sends more than 1000 bytes; attachment_bytes sets how many may"),
            "{reason}"
        );
    }
    let compressed = answered(Answer::Body(&["content-encoding: gzip"], vec![1, 2])).await;
    assert!(permanent(compressed).ends_with("compressed, unasked"));
}

#[tokio::test]
async fn all_files_of_a_mail_share_their_bytes_and_their_time() {
    let body = || Answer::Body(&[], vec![b'x'; 900]);
    let (files, mails) = (WebServer::start([body(), body()]).await, MailServer::start([]).await);
    let (one, two) = (files.url("/1"), files.url("/2"));
    let mail = mail_with(&[(&one, "1", None), (&two, "2", None)]);
    let reason = permanent(channel(&mails, bounds()).deliver(&mail).await);
    assert!(reason.contains("more than 1500 bytes in all"), "{reason}");
    // When their time is over, the second file has had less than that for itself.
    let (timer, asked) = (HandTimer::default(), AtomicU32::new(0));
    let turned = timer.clone();
    let slow = WebServer::answering(move |_| {
        turned.advance(LONG * 2 / 3);
        let is_first = asked.fetch_add(1, Relaxed) == 0;
        Box::pin(async move { if is_first { Answer::Body(&[], b"x".to_vec()) } else { Answer::Silence } })
    })
    .await;
    let (one, two) = (slow.url("/1"), slow.url("/2"));
    let mail = mail_with(&[(&one, "1", None), (&two, "2", None)]);
    not_ready(channel_by(&timer, &mails, bounds()).deliver(&mail).await);
    assert_eq!((slow.received().len(), timer.now()), (2, LONG * 4 / 3));
    assert_eq!(mails.seen().connections, 0, "no mail goes without its file");
}

/// Guard: mails share one download of a file | src/attachments/mod.rs `file`: one for each call
#[tokio::test]
async fn a_campaigns_file_is_fetched_once_though_its_mails_go_at_the_same_time() {
    let files = WebServer::start([Answer::Body(&[], b"catalogue".to_vec())]).await;
    let (mails, url) = (MailServer::start([]).await, files.url("/catalogue.pdf"));
    let channel = channel(&mails, bounds());
    let mail = mail_with(&[(&url, "catalogue.pdf", None)]);
    let sent = futures::future::join_all((0..20).map(|_| channel.deliver(&mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert_eq!((files.received().len(), mails.seen().mails.len()), (1, 20));
}

/// Guard: a mail is sent with the files that were fetched for it | adapters/channels/src/smtp/mod.rs `prepare`: no `note`
#[tokio::test]
async fn files_that_were_fetched_before_the_server_was_asked_are_fetched_once_though_none_is_kept() {
    let body = |text: &str| Answer::Body(&[], text.into());
    let (files, mails) = (WebServer::start([body("one"), body("two")]).await, MailServer::start([]).await);
    let channel = channel(&mails, AttachmentConfig { cache_bytes: 0, ..bounds() });
    let mail = mail_with(&[(&files.url("/"), "a.txt", Some("text/plain"))]);
    let prepared = channel.prepare(&mail).await.unwrap();
    assert_eq!((files.received().len(), mails.seen().connections), (1, 0));
    channel.deliver(&mail).await.unwrap();
    assert_eq!((files.received().len(), mails.seen().mails.len()), (1, 1));
    drop(prepared);
    channel.deliver(&mail).await.unwrap();
    assert_eq!(
        (files.received().len(), mails.seen().mails.len()),
        (2, 2),
        "they are held no longer than that"
    );
    not_ready(
        channel
            .prepare(&mail_with(&[("http://127.0.0.1:1/", "a", None)]))
            .await
            .map(|_| Delivered::default()),
    );
}

/// Guard: mails share one failure of a file | src/attachments/cache.rs `fail`: notes nothing
#[tokio::test]
async fn a_file_that_failed_is_asked_for_again_after_a_while_for_all_mails() {
    let files = WebServer::start([Answer::Status(503, &[]), Answer::Body(&[], b"now".to_vec())]).await;
    let (mails, url, timer) = (MailServer::start([]).await, files.url("/"), HandTimer::default());
    let channel = channel_by(&timer, &mails, bounds());
    let mail = mail_with(&[(&url, "a", None)]);
    let all = || futures::future::join_all((0..20).map(|_| channel.deliver(&mail)));
    let waits: Vec<_> = all().await.into_iter().map(|outcome| not_ready(outcome).1).collect();
    let shared = waits.iter().filter(|wait| **wait == Some(Duration::from_secs(10))).count();
    assert_eq!((files.received().len(), shared), (1, 19), "{waits:?}");
    timer.advance(Duration::from_secs(10));
    let sent = all().await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert_eq!(files.received().len(), 2);
}

#[tokio::test]
async fn files_come_by_https_and_from_public_addresses_unless_the_settings_say_more() {
    let (files, mails) = (WebServer::start([]).await, MailServer::start([]).await);
    let deliver = async |url: &str, bounds: AttachmentConfig| {
        permanent(channel(&mails, bounds).deliver(&mail_with(&[(url, "a", None)])).await)
    };
    let plain = deliver(&files.url("/"), AttachmentConfig { plain_http: false, ..bounds() }).await;
    assert!(plain.contains("attachment_http = true"), "{plain}");
    let inside = deliver(&files.url("/"), AttachmentConfig { reach: AddressRule::Public, ..bounds() }).await;
    assert!(inside.contains("is the machine itself") && inside.contains("allow_private"), "{inside}");
    for url in ["file:///etc/passwd", "ftp://example.com/a", "http://"] {
        deliver(url, bounds()).await;
    }
    assert!(files.received().is_empty());
}

#[test]
fn bounds_that_contradict_each_other_are_refused() {
    let server = "smtp://127.0.0.1".parse().unwrap();
    let attachments = AttachmentConfig { max_bytes: 2, max_bytes_in_all: 1, ..AttachmentConfig::default() };
    let config = SmtpConfig { attachments, ..SmtpConfig::new(server, "a@shop.example") };
    assert!(SmtpChannel::new(config).unwrap_err().to_string().contains("at least as many"));
}
