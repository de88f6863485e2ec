//! Several providers for a channel, and providers behind an HTTP API, with real servers on this machine.
//! Promise: a failed provider comes back by itself after one test message, and the example gateway files send
//! what they describe

use std::{
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::Value;

use crate::{
    operator::{Operator, Running, eventually, id, request},
    server::{Server, free_address},
};

/// A file that sends SMS by `primary` and then by `secondary`.
fn two(primary: &str, secondary: &str, more: &str) -> String {
    format!(
        "[channels.sms]\nproviders = \"primary, secondary\"\n{more}\n[providers.primary]\ntype = \"webhook\"\nurl = \
         \"http://{primary}/p\"\nproxy = false\nbreaker_failures = 3\nbreaker_pause = \"200ms\"\nbreaker_pause_cap = \"400ms\"\n\
         [providers.secondary]\ntype = \"webhook\"\nurl = \"http://{secondary}/s\"\nproxy = false\n"
    )
}

pub(crate) fn submit(operator: &Operator, numbers: std::ops::Range<u32>) {
    let lines: String = numbers.map(|number| request(number, "\"sms\"") + "\n").collect();
    operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
}

fn posted(server: &Server) -> usize {
    server.received().matches("POST /").count()
}

fn attempts(operator: &Operator, number: u32) -> Vec<(String, String, String)> {
    let shown = operator.run(&["show", &id(number), "--attempts", "--json"]).succeeded();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let text = |attempt: &Value, key: &str| attempt[key].as_str().unwrap().to_owned();
    let all = shown["attempts"].as_array().unwrap().iter();
    all.map(|one| (text(one, "provider"), text(one, "answer"), text(one, "acceptance"))).collect()
}

#[test]
fn while_the_primary_is_down_the_secondary_delivers_everything_once() {
    let (down, secondary) = (free_address().to_string(), Server::answering(200));
    let operator = Operator::with_database();
    operator.write("claimstream.toml", two(&down, &secondary.address().to_string(), ""));
    submit(&operator, 0..60);
    operator.run(&["relay", "--until-empty"]).succeeded();
    assert_eq!(posted(&secondary), 60);
    let seen: Vec<_> = (0..60).map(|number| attempts(&operator, number)).collect();
    let row = |provider: &str, answer: &str, acceptance: &str| {
        (provider.to_owned(), answer.to_owned(), acceptance.to_owned())
    };
    let tried = [row("primary", "PROVIDER_DOWN", "NOT_ACCEPTED"), row("secondary", "DELIVERED", "ACCEPTED")];
    assert!(seen.iter().any(|attempts| attempts[..] == tried), "{seen:?}");
    assert!(
        seen.iter().any(|attempts| attempts[..] == tried[1..]),
        "an open circuit asks the secondary only"
    );
    let table = operator.run(&["show", &id(0), "--attempts"]).succeeded();
    assert!(table.contains("ACCEPTANCE") && table.contains("secondary"), "{table}");
}

/// A message that is put off comes again after an hour, and an open circuit tries the primary again after an hour.
#[test]
fn deliveries_go_on_without_a_retry_and_an_open_circuit_spares_the_primary() {
    let (up, primary) = switched();
    let secondary = Server::answering(200);
    let operator = Operator::with_database();
    let mut relay = relay_with(&operator, &primary, &secondary, "1h");
    submit(&operator, 0..30);
    eventually("the primary delivers", || posted(&primary) == 30);

    up.store(false, Ordering::SeqCst);
    submit(&operator, 30..130);
    eventually("the secondary delivers", || posted(&secondary) == 100);
    let failed = posted(&primary) - 30;
    // As many as had gone well before, and what was under way when the circuit opened.
    assert!(failed <= 30 + CONCURRENCY, "{failed} posts have failed");
    eventually("everything is delivered", || {
        operator.run(&["status"]).succeeded() == "all queues are empty\n"
    });
    assert_eq!((posted(&primary), posted(&secondary)), (30 + failed, 100), "each once");
    drop(relay.0.kill());
}

#[test]
fn the_primary_comes_back_by_itself() {
    let (up, primary) = switched();
    let secondary = Server::answering(200);
    let operator = Operator::with_database();
    up.store(false, Ordering::SeqCst);
    let mut relay = relay_with(&operator, &primary, &secondary, "200ms");
    submit(&operator, 0..30);
    eventually("the secondary delivers", || posted(&secondary) == 30);

    up.store(true, Ordering::SeqCst);
    let (mut number, before) = (30, posted(&primary));
    eventually("the primary is back", || {
        submit(&operator, number..number + 5);
        number += 5;
        posted(&primary) > before + 5
    });
    eventually("everything is delivered", || {
        operator.run(&["status"]).succeeded() == "all queues are empty\n"
    });
    drop(relay.0.kill());
    let delivered = posted(&primary) - before + posted(&secondary);
    // A post that fails may have come between the switch and the count, one for each handler of a message.
    let extra = delivered as i64 - i64::from(number);
    assert!((-(CONCURRENCY as i64)..=0).contains(&extra), "{delivered} of {number}");
}

/// How many messages are delivered at the same time.
const CONCURRENCY: usize = 16;

/// A provider that answers 503 unless the switch is on, as it is at first.
fn switched() -> (Arc<AtomicBool>, Server) {
    let up = Arc::new(AtomicBool::new(true));
    let is_up = Arc::clone(&up);
    let server = Server::telling(move |_| {
        let status = if is_up.load(Ordering::SeqCst) { 200 } else { 503 };
        Some((status, "{}".into()))
    });
    (up, server)
}

/// A relay whose open circuits pause for so long, and whose retries come after an hour.
fn relay_with(operator: &Operator, primary: &Server, secondary: &Server, pause: &str) -> Running {
    let (first, second) = (primary.address().to_string(), secondary.address().to_string());
    let circuits = two(&first, &second, "").replace("\"200ms\"", &format!("\"{pause}\""));
    let circuits = circuits.replace("\"400ms\"", &format!("\"{pause}\""));
    let relay = format!(
        "[relay]\nidle_max = \"100ms\"\nconcurrency = {CONCURRENCY}\n[messages.retry]\nbase = \"1h\"\njitter = \"none\"\n"
    );
    operator.write("claimstream.toml", circuits + &relay);
    Running(operator.command(&["relay"]).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn a_message_whose_answer_was_lost_goes_elsewhere_only_if_that_is_asked_for() {
    let lost = || Server::telling(|_| None);
    for (setting, posts) in [("", 0), ("after_unknown = \"failover\"", 1)] {
        let (primary, secondary) = (lost(), Server::answering(200));
        let operator = Operator::with_database();
        let (first, second) = (primary.address().to_string(), secondary.address().to_string());
        operator.write("claimstream.toml", two(&first, &second, setting));
        submit(&operator, 1..2);
        let relayed = operator.run(&["relay", "--until-empty"]);
        assert_eq!(posted(&secondary), posts, "{setting}");
        assert_eq!(relayed.err.contains("failed_over_in_doubt"), posts == 1, "{relayed:?}");
        assert_eq!(attempts(&operator, 1)[0].2, "UNKNOWN");
    }
}

#[test]
fn what_could_not_work_is_refused_by_the_setting_that_would() {
    let operator = Operator::with_database();
    let refused = |text: &str| {
        operator.write("claimstream.toml", text);
        operator.run(&["relay", "--until-empty"]).failed(2)
    };
    let both = two("localhost:1", "localhost:2", "");
    let why = refused(&both.replace("\"primary, secondary\"", "\"primry\""));
    assert!(
        why.contains("`channels.sms.providers`: there is no provider") && why.contains("did you mean"),
        "{why}"
    );
    assert!(refused(&both.replace("type = \"webhook\"", "")).contains("`providers.primary.type`"));
    assert!(refused(&both.replace("breaker_failures = 3", "rate = \"fast\"")).contains("100/s"));
    assert!(refused(&both.replace("breaker_failures = 3", "brake = 3")).contains("unknown key"));
    let gateway = "[channels.sms]\nproviders = \"g\"\n[providers.g]\ntype = \"gateway\"\n";
    assert!(refused(gateway).contains("`providers.g.request_url`"));
    let typo = format!("{gateway}request_url = \"http://localhost/\"\nrequest_body = '{{{{ adress }}}}'\n");
    assert!(refused(&typo).contains("body, line 1"), "{}", refused(&typo));
    operator.write("claimstream.toml", both);
    let examined = operator.run(&["doctor"]).out;
    assert!(examined.contains("sms provider 1 of 2, primary: webhook"), "{examined}");
    operator.write("claimstream.toml", typo.replace("adress", "address"));
    let examined = operator.run(&["doctor"]).out;
    assert!(examined.contains("by templates, which leave out: body, redirect_url, image_url"), "{examined}");
}

/// Runs a worked configuration of the book against a server of this machine, and answers what the server received.
fn worked(file: &str, host: &str, request: &str, answer: (u16, &'static str)) -> (Operator, String) {
    let server = Server::telling(move |_| Some((answer.0, answer.1.into())));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.replace(&format!("https://{host}"), &format!("http://{}", server.address()));
    let operator = Operator::with_database().set("TWILIO_TOKEN", "t0ken").set("POSTMARK_TOKEN", "t0ken");
    operator.write("claimstream.toml", text + "proxy = false\n");
    operator.write("fcm-token", "ya29.t0ken\n");
    operator.run_with(&["notify", "-"], request.as_bytes()).succeeded();
    operator.run(&["relay", "--until-empty"]).succeeded();
    let received = server.received();
    (operator, received)
}

#[test]
fn an_sms_is_sent_by_a_form_and_a_password() {
    let accepted = (201, r#"{"sid": "SM0123456789abcdef", "status": "queued"}"#);
    let sms = request(1, "\"sms\"").replace("\"b1\"", "\"a&b=c ü\"");
    let (operator, received) = worked("twilio.toml", "api.twilio.com", &sms, accepted);
    assert!(received.starts_with("POST /2010-04-01/Accounts/AC0123/Messages.json HTTP/1.1"), "{received}");
    assert!(received.contains("authorization: Basic QUMwMTIzOnQwa2Vu"), "{received}");
    assert!(received.ends_with("To=%2B4900001&From=%2B15005550006&Body=a%26b%3Dc%20%C3%BC"), "{received}");
    assert_eq!(attempts(&operator, 1)[0].1, "DELIVERED");
}

#[test]
fn a_push_to_an_unknown_token_is_refused_for_good_and_the_token_is_suppressed() {
    let unregistered = (404, r#"{"error": {"code": 404, "details": [{"errorCode": "UNREGISTERED"}]}}"#);
    let push = request(1, "\"push\"").replace("\"email\":", "\"device_token\":\"d:1\",\"email\":");
    let (operator, received) = worked("fcm.toml", "fcm.googleapis.com", &push, unregistered);
    assert!(received.contains("authorization: Bearer ya29.t0ken\r\n"), "{received}");
    let body = received.rsplit("\r\n\r\n").next().unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["message"]["token"], "d:1");
    assert_eq!(body["message"]["notification"]["title"], "t");
    assert_eq!(attempts(&operator, 1)[0].1, "PERMANENT");
    let suppressed = operator.run(&["suppressions", "list", "--json"]).succeeded();
    assert!(suppressed.contains("d:1") && suppressed.contains("bounced"), "{suppressed}");
}

#[test]
fn a_mail_is_sent_with_a_key_in_a_header() {
    let accepted = (200, r#"{"To": "a1@example.com", "MessageID": "b7bc2f4a-e38e", "ErrorCode": 0}"#);
    let mail = request(1, "\"email\"").replace("\"b1\"", "\"say \\\"hi\\\"\\n\"");
    let (operator, received) = worked("postmark.toml", "api.postmarkapp.com", &mail, accepted);
    assert!(received.to_lowercase().contains("x-postmark-server-token: t0ken\r\n"), "{received}");
    let body = received.rsplit("\r\n\r\n").next().unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["To"], &body["TextBody"]), (&"a1@example.com".into(), &"say \"hi\"\n".into()));
    assert_eq!(attempts(&operator, 1)[0].1, "DELIVERED");
}
