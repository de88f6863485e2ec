//! Several providers for a channel, and providers behind an HTTP API, with real servers on this machine.

use std::{
    path::Path,
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
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

fn submit(operator: &Operator, numbers: std::ops::Range<u32>) {
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

#[test]
fn deliveries_go_on_within_two_seconds_and_the_primary_comes_back_by_itself() {
    let up = Arc::new(AtomicBool::new(true));
    let is_up = Arc::clone(&up);
    let primary = Server::telling(move |_| {
        let status = if is_up.load(Ordering::SeqCst) { 200 } else { 503 };
        Some((status, "{}".into()))
    });
    let secondary = Server::answering(200);
    let operator = Operator::with_database();
    let (first, second) = (primary.address().to_string(), secondary.address().to_string());
    let relay = "[relay]\nidle_max = \"100ms\"\nconcurrency = 16\n";
    operator.write("claimstream.toml", two(&first, &second, "") + relay);
    let mut relay = Running(operator.command(&["relay"]).stderr(Stdio::null()).spawn().unwrap());
    submit(&operator, 0..30);
    eventually("the primary delivers", || posted(&primary) == 30);

    up.store(false, Ordering::SeqCst);
    let since = Instant::now();
    submit(&operator, 30..130);
    eventually("the secondary delivers", || posted(&secondary) == 100);
    // A message that is put off comes again after 30 s.
    assert!(since.elapsed() < Duration::from_secs(25), "{:?} with the time to submit", since.elapsed());
    let in_vain = posted(&primary) - 30;
    // As many as had gone well before, what was under way when the circuit opened, and a trial after each pause.
    let most = 30 + 16 + since.elapsed().as_millis() as usize / 200 + 1;
    assert!(in_vain <= most, "an open circuit spares the primary: {in_vain} posts in vain, at most {most}");

    up.store(true, Ordering::SeqCst);
    let (mut number, before) = (130, posted(&primary));
    eventually("the primary is back", || {
        submit(&operator, number..number + 5);
        number += 5;
        std::thread::sleep(Duration::from_millis(300));
        posted(&primary) > before + 5
    });
    eventually("everything is delivered", || {
        operator.run(&["status"]).succeeded() == "all queues are empty\n"
    });
    drop(relay.0.kill());
    let delivered = (posted(&primary) - before) + (before - in_vain) + posted(&secondary);
    // One more post in vain may have come with a trial between the two counts.
    let extra = delivered as i64 - i64::from(number);
    assert!((0..=3).contains(&extra), "{delivered} of {number}");
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

/// Messages a second, and how many a process takes at a time.
const RATE: f64 = 60.0;
const BLOCK: f64 = 6.0;

#[test]
fn four_processes_share_a_rate_and_hold_it_within_five_percent() {
    let times = Arc::<Mutex<Vec<Instant>>>::default();
    let noted = Arc::clone(&times);
    let server = Server::telling(move |_| {
        noted.lock().unwrap().push(Instant::now());
        Some((200, "{}".into()))
    });
    let operator = Operator::with_database();
    operator.write(
        "claimstream.toml",
        format!(
            "[relay]\nidle_max = \"50ms\"\n[channels.sms]\nprovider = \"webhook\"\nproxy = false\nrate = \"60/s\"\nurl = \
             \"http://{}/\"\n",
            server.address()
        ),
    );
    submit(&operator, 0..480);
    let lateness = Lateness::watch();
    let relays: Vec<_> = (0..4)
        .map(|_| Running(operator.command(&["relay"]).stderr(Stdio::null()).spawn().unwrap()))
        .collect();
    eventually("everything is delivered", || times.lock().unwrap().len() == 480);
    drop(relays);
    let mut times = times.lock().unwrap().clone();
    times.sort();
    keeps_the_rate(&times, &lateness);
}

/// A stop in the middle lengthens the whole. Only one before the first is noted shortens it, so that one is added, and so are the
/// stops that have messages arrive together in a window.
fn keeps_the_rate(times: &[Instant], lateness: &Lateness) {
    let (first, second) = (times[0], Duration::from_secs(1));
    let whole = times[479] - first + lateness.between(first - second, first + second);
    // The first block is there from the beginning.
    let rate = (480.0 - BLOCK) / whole.as_secs_f64();
    println!("rate of four processes: {rate:.1}/s of {RATE}/s, 480 messages in {whole:?}");
    assert!(rate <= RATE * 1.05, "{rate:.1}/s is more than {RATE}/s");
    for (at, since) in times.iter().enumerate() {
        let within = times[at..].iter().take_while(|one| **one < *since + 2 * second).count();
        let late = lateness.between(*since - second, *since + 2 * second);
        let most = 2.0 * RATE * 1.05 + BLOCK + RATE * late.as_secs_f64();
        assert!(within as f64 <= most, "{within} in 2 s, at most {most:.1} with {late:?} of lateness");
    }
}

/// How late this process was, looked at every 10 ms.
struct Lateness {
    noted: Arc<Mutex<Vec<(Instant, Duration)>>>,
}

impl Lateness {
    /// Watches until it is dropped.
    fn watch() -> Self {
        let noted = Arc::<Mutex<Vec<_>>>::default();
        let watched = Arc::downgrade(&noted);
        std::thread::spawn(move || {
            const EVERY: Duration = Duration::from_millis(10);
            while let Some(noted) = watched.upgrade() {
                let began = Instant::now();
                std::thread::sleep(EVERY);
                let took = began.elapsed();
                noted.lock().unwrap().push((began + took, took.saturating_sub(EVERY)));
            }
        });
        Self { noted }
    }

    fn between(&self, from: Instant, to: Instant) -> Duration {
        let noted = self.noted.lock().unwrap();
        noted.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, late)| *late).sum()
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
fn a_push_that_is_for_nobody_is_refused_for_good() {
    let unregistered = (404, r#"{"error": {"code": 404, "status": "NOT_FOUND"}}"#);
    let push = request(1, "\"push\"").replace("\"email\":", "\"device_token\":\"d:1\",\"email\":");
    let (operator, received) = worked("fcm.toml", "fcm.googleapis.com", &push, unregistered);
    assert!(received.contains("authorization: Bearer ya29.t0ken\r\n"), "{received}");
    let body = received.rsplit("\r\n\r\n").next().unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["message"]["token"], "d:1");
    assert_eq!(body["message"]["notification"]["title"], "t");
    assert_eq!(attempts(&operator, 1)[0].1, "PERMANENT");
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
