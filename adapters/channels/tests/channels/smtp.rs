//! Promise: a mail server that defers one recipient keeps its circuit closed

use std::{sync::Arc, time::Duration};

use claimstream_channels::{Secret, SmtpChannel, SmtpConfig, SmtpCredentials};
use claimstream_domain::notification::{Answer, Channel};
use claimstream_ports::{
    Timer,
    mock::HandTimer,
    notification::{ChannelProvider, Delivered, DeliveryError},
};
use futures::future::{join, join_all};
use tokio::net::TcpListener;

use crate::{
    mail_server::{MailServer, Reply},
    message::{LONG, message},
};

const ADDRESS: &str = "ann@example.com";

fn config(server: &str) -> SmtpConfig {
    SmtpConfig {
        connect_timeout: LONG,
        timeout: LONG,
        ..SmtpConfig::new(server.parse().unwrap(), "Shop <no-reply@shop.example>")
    }
}

fn config_for(server: &MailServer) -> SmtpConfig {
    config(&format!("smtp://{}", server.address()))
}

/// A channel whose time stands still.
fn channel_of(config: SmtpConfig) -> SmtpChannel {
    SmtpChannel::new(config).unwrap().with_timer(Arc::new(HandTimer::default()))
}

async fn deliver(channel: &SmtpChannel) -> Result<Delivered, DeliveryError> {
    channel.deliver(&message(Channel::Email, ADDRESS)).await
}

async fn answered(command: &'static str, reply: Reply) -> Result<Delivered, DeliveryError> {
    let server = MailServer::start([(command, reply)]).await;
    deliver(&channel_of(config_for(&server))).await
}

/// Tried again, and the mail was not accepted.
fn transient(outcome: Result<Delivered, DeliveryError>) -> String {
    failed_as(Answer::LATER, outcome)
}

/// The server cannot be reached, or refuses every login.
fn down(outcome: Result<Delivered, DeliveryError>) -> String {
    failed_as(Answer::NO_SESSION, outcome)
}

/// Tried again, and the mail may have been accepted.
fn unknown(outcome: Result<Delivered, DeliveryError>) -> String {
    failed_as(Answer::LOST, outcome)
}

fn failed_as(answer: Answer, outcome: Result<Delivered, DeliveryError>) -> String {
    let error = outcome.expect_err("a failure");
    assert_eq!((error.answer(), error.retry_after()), (answer, None), "{error:?}");
    error.to_string()
}

fn permanent(outcome: Result<Delivered, DeliveryError>) -> String {
    match outcome {
        Err(DeliveryError::Permanent { reason }) => reason,
        other => panic!("not permanent: {other:?}"),
    }
}

#[tokio::test]
async fn a_mail_is_handed_over_with_the_messages_id_and_the_servers_answer_is_the_reference() {
    let server = MailServer::start([]).await;
    let channel = channel_of(SmtpConfig { hello: Some("shop.example".into()), ..config_for(&server) });
    let delivered = deliver(&channel).await.unwrap();
    assert_eq!(delivered.reference.as_deref(), Some("2.0.0 queued as Q1"));
    let seen = server.seen();
    let expected =
        ["EHLO shop.example", "MAIL FROM:<no-reply@shop.example>", "RCPT TO:<ann@example.com>", "DATA"];
    assert_eq!(seen.commands, expected);
    let [mail] = &seen.mails[..] else { panic!("not one mail") };
    let id = message(Channel::Email, ADDRESS).id;
    for line in [format!("Message-ID: <{id}@shop.example>"), "Your order is paid.".into(), "Date: ".into()] {
        assert!(mail.contains(&line), "{mail}");
    }
    assert!(mail.is_ascii() && !mail.contains("Grüße"), "{mail}");
}

#[tokio::test]
async fn mails_share_a_connection_while_it_lasts() {
    let server = MailServer::start([]).await;
    let channel = channel_of(config_for(&server));
    for _ in 0..3 {
        deliver(&channel).await.unwrap();
    }
    assert_eq!((server.seen().connections, server.seen().mails.len()), (1, 3));
}

#[tokio::test]
async fn a_server_that_says_later_is_tried_again() {
    let lines = [("MAIL", "451 4.3.0 try later"), ("DATA", "452 full"), ("MESSAGE", "451 4.7.1 later")];
    for (command, line) in lines {
        let reason = transient(answered(command, Reply::Line(line)).await);
        assert!(reason.contains("smtp://127.0.0.1:") && reason.contains(&line[..3]), "{reason}");
    }
}

#[tokio::test]
async fn a_server_that_says_later_of_one_recipient_says_nothing_of_itself() {
    for line in ["450 4.2.0 greylisted", "451 4.7.1 later", "452 4.2.2 mailbox full"] {
        let error = answered("RCPT", Reply::Line(line)).await.unwrap_err();
        assert!(
            matches!(&error, DeliveryError::Deferred { reason, .. } if reason.contains(&line[..3])),
            "{error:?}"
        );
        assert!(error.answer() == Answer::LATER && !error.speaks_against_provider());
    }
    down(answered("RCPT", Reply::Line("421 4.3.2 shutting down")).await);
    let error = answered("MAIL", Reply::Line("451 4.3.0 try later")).await.unwrap_err();
    assert!(error.speaks_against_provider());
}

#[tokio::test]
async fn a_mail_that_is_refused_is_refused_for_good_and_the_address_is_not_repeated() {
    let lines = [
        ("RCPT", "550 5.4.1 <ann@example.com>: access denied"),
        ("MESSAGE", "554 5.7.1 spam"),
        ("MESSAGE", "554 transaction failed"),
    ];
    for (command, line) in lines {
        let reason = permanent(answered(command, Reply::Line(line)).await);
        assert!(reason.contains(&line[..9]) && !reason.contains(ADDRESS), "{reason}");
    }
}

#[tokio::test]
async fn an_address_with_a_name_is_not_repeated_either() {
    let lines =
        [("RCPT", "550 5.1.1 <ann@example.com>: unknown"), ("MESSAGE", "451 try Ann@Example.com later")];
    for (command, line) in lines {
        let server = MailServer::start([(command, Reply::Line(line))]).await;
        let channel = channel_of(config_for(&server));
        let refused = channel.deliver(&message(Channel::Email, "Ann <ann@example.com>")).await;
        let reason = refused.unwrap_err().to_string();
        assert!(reason.contains("***") && !reason.to_lowercase().contains(ADDRESS), "{reason}");
    }
}

#[tokio::test]
async fn a_session_that_is_refused_says_nothing_about_the_mail() {
    down(answered("GREETING", Reply::Line("421 too busy")).await);
    down(answered("GREETING", Reply::Line("554 no service")).await);
    down(answered("EHLO", Reply::Line("550 who are you")).await);
    down(answered("MAIL", Reply::Line("421 4.3.2 shutting down")).await);
}

#[tokio::test]
async fn a_server_that_wants_another_login_says_nothing_about_the_mail() {
    let lines = [
        ("MAIL", "530 5.7.0 authentication required"),
        ("MAIL", "534 5.7.9 mechanism too weak"),
        ("MAIL", "535 5.7.8 credentials invalid"),
        ("RCPT", "538 5.7.11 encryption required"),
    ];
    for (command, line) in lines {
        let reason = down(answered(command, Reply::Line(line)).await);
        assert!(reason.contains(&line[..3]), "{reason}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_the_mail_in_doubt_only_once_it_was_sent() {
    for command in ["GREETING", "EHLO"] {
        down(answered(command, Reply::Close).await);
    }
    for command in ["MAIL", "RCPT", "DATA"] {
        transient(answered(command, Reply::Close).await);
    }
    unknown(answered("MESSAGE", Reply::Close).await);
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    down(deliver(&channel_of(config(&format!("smtp://{free}")))).await);
}

#[tokio::test]
async fn silence_ends_with_the_timeout_and_its_connection_is_never_used_again() {
    let stages = [
        ("GREETING", Answer::NO_SESSION),
        ("RCPT", Answer::LATER),
        ("DATA", Answer::LATER),
        ("MESSAGE", Answer::LOST),
    ];
    let silences = stages.map(|(command, answer)| ends_with_the_timeout(command, answer));
    join_all(silences).await;
}

/// One timeout is for the session and the offer, and another for the mail and its answer.
///
/// Guard: the answer to a mail has a time of its own | src/smtp/mod.rs `send`: `end_timeout` is `timeout`
async fn ends_with_the_timeout(command: &'static str, answer: Answer) {
    let server = MailServer::start([(command, Reply::Silence)]).await;
    let timer = HandTimer::default();
    let end_timeout = 3 * LONG;
    let config = SmtpConfig { end_timeout, ..config_for(&server) };
    let channel = SmtpChannel::new(config).unwrap().with_timer(Arc::new(timer.clone()));
    let limit = if command == "MESSAGE" { end_timeout } else { LONG };
    for _ in 0..2 {
        let time_passes = async {
            server.is_silent().await;
            let end = timer.now() + limit;
            timer.asleep_until(end).await;
            assert_eq!(timer.next_wakeup(), Some(end), "{command}");
            timer.advance(limit);
        };
        let (outcome, ()) = join(deliver(&channel), time_passes).await;
        let reason = failed_as(answer, outcome);
        assert!(
            reason.contains(" smtp://127.0.0.1:") && reason.ends_with(&format!("within {limit:?}")),
            "{reason}"
        );
    }
    assert_eq!(server.seen().connections, 2, "{command}");
}

#[tokio::test]
async fn a_server_that_closes_an_idle_connection_costs_a_new_one_and_no_mail() {
    let server = MailServer::start([("OTHER", Reply::Close)]).await;
    let channel = channel_of(config_for(&server));
    for _ in 0..2 {
        deliver(&channel).await.unwrap();
    }
    assert_eq!((server.seen().connections, server.seen().mails.len()), (2, 2));
}

/// Guard: a kept SMTP connection is tested for a bounded time | src/smtp/connections.rs `kept`: no deadline
#[tokio::test]
async fn a_kept_connection_that_broke_without_a_sign_costs_a_new_one_and_no_mail() {
    let server = MailServer::start([("OTHER", Reply::Silence)]).await;
    let timer = HandTimer::default();
    let channel = SmtpChannel::new(config_for(&server)).unwrap().with_timer(Arc::new(timer.clone()));
    deliver(&channel).await.unwrap();
    // The question whether it is still a connection ends long before the delivery.
    let time_passes = async {
        server.is_silent().await;
        let end = timer.now() + LONG / 100;
        timer.asleep_until(end).await;
        timer.advance_to_next();
    };
    let (delivered, ()) = join(deliver(&channel), time_passes).await;
    delivered.unwrap();
    assert_eq!((server.seen().connections, server.seen().mails.len()), (2, 2));
}

/// Guard: 421 on a kept connection is repeated on a new one | src/smtp/dialogue.rs `ends_connection`: never
#[tokio::test]
async fn a_server_that_takes_few_mails_on_a_connection_costs_a_new_one_and_no_mail() {
    let server = MailServer::start([("MAIL", Reply::Behind(1, "421 4.4.5 too many mails"))]).await;
    let channel = channel_of(config_for(&server));
    for _ in 0..3 {
        deliver(&channel).await.unwrap();
    }
    assert_eq!((server.seen().connections, server.seen().mails.len()), (3, 3));
}

#[tokio::test]
async fn a_user_logs_in_and_a_wrong_password_is_tried_again_and_never_shown() {
    let credentials = || Some(SmtpCredentials { user: "ann".into(), password: Secret::new("hunter2") });
    let server = MailServer::start([]).await;
    let channel = channel_of(SmtpConfig { credentials: credentials(), ..config_for(&server) });
    deliver(&channel).await.unwrap();
    // base64 of "\0ann\0hunter2", as printf and base64 write it
    assert_eq!(server.seen().commands[1], "AUTH PLAIN AGFubgBodW50ZXIy");
    assert!(!format!("{channel:?}").contains("hunter2"));

    let strict = MailServer::start([("AUTH", Reply::Line("535 5.7.8 wrong"))]).await;
    let channel = channel_of(SmtpConfig { credentials: credentials(), ..config_for(&strict) });
    let reason = down(deliver(&channel).await);
    assert!(reason.contains("535") && !reason.contains("hunter2"), "{reason}");
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_for_good_without_a_connection() {
    let server = MailServer::start([]).await;
    let channel = channel_of(config_for(&server));
    permanent(channel.deliver(&message(Channel::Email, "ann at example.com")).await);
    assert_eq!(server.seen().connections, 0);
}

#[test]
fn a_configuration_that_cannot_work_is_refused_with_the_one_that_does() {
    let refused = |config: SmtpConfig| SmtpChannel::new(config).unwrap_err().to_string();
    let plain = || config("smtp://mail.example.com");
    assert!(
        refused(SmtpConfig { from: "no address".into(), ..plain() }).contains("Shop <no-reply@shop.example>")
    );
    assert!(refused(SmtpConfig { timeout: Duration::ZERO, ..plain() }).contains("SMTP timeout"));
    let credentials = Some(SmtpCredentials { user: "ann".into(), password: Secret::new("hunter2") });
    assert!(refused(SmtpConfig { credentials, ..plain() }).contains("smtps://"));
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn starttls_is_spoken_where_it_is_required() {
    let server = MailServer::start([]).await;
    let url = format!("smtp://localhost:{}?tls=required", server.address().port());
    let channel = channel_of(config(&url));
    down(deliver(&channel).await);
    // A handshake record of TLS (RFC 8446, section 5.1), and no word of the mail before it.
    assert_eq!(server.seen().encrypted, [0x16, 3, 1]);
    assert_eq!(server.seen().commands[1..], ["STARTTLS"]);
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn a_server_without_starttls_gets_no_mail_where_it_is_required() {
    let server = MailServer::start([("EHLO", Reply::Line("250 stub"))]).await;
    let url = format!("smtp://localhost:{}?tls=required", server.address().port());
    down(deliver(&channel_of(config(&url))).await);
    assert!(server.seen().commands.iter().all(|command| !command.starts_with("MAIL")));
}

#[cfg(not(feature = "tls"))]
#[test]
fn encryption_without_tls_is_refused_by_the_features_name() {
    assert!(SmtpChannel::new(config("smtps://mail")).unwrap_err().to_string().contains("feature tls"));
}
