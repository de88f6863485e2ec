use std::{io::Write, process::Stdio};

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::ConnectionTrait;

use crate::operator::{Operator, Running, eventually, request};

const EMAIL: &str = "\"email\"";

#[test]
fn takes_good_lines_and_reports_bad_ones() {
    let operator = Operator::with_database();
    let long = format!("{{\"memo\":\"{}\"}}", "x".repeat(1024 * 1024));
    let lines = [
        format!("\u{feff}{}\r", request(1, EMAIL)),
        String::new(),
        "{\"id\":".into(),
        request(2, ""),
        "   ".into(),
        long,
        request(1, EMAIL),
        request(3, EMAIL).replace("\"memo\"", "").replace("requester", "requestor"),
        request(4, EMAIL),
    ];
    operator.write("in.jsonl", lines.join("\n"));
    let ended = operator.run(&["notify", "in.jsonl"]);
    assert_eq!(ended.out, "new 2, replayed 1, in conflict 0, refused 4\n", "{ended:?}");
    let complaints = ended.failed(1);
    let complaints: Vec<&str> = complaints.lines().collect();
    assert_eq!(complaints.len(), 4, "{complaints:?}");
    assert!(complaints[0].starts_with("line 3: column 6: EOF while parsing"), "{complaints:?}");
    assert!(complaints[0].ends_with("; a line is one request as a JSON object"), "{complaints:?}");
    assert_eq!(complaints[1], "line 4: channels is empty");
    assert_eq!(complaints[2], "line 6: longer than 1048576 bytes");
    assert!(complaints[3].contains("line 8: column") && complaints[3].contains("unknown field `requestor`"));
    assert!(!complaints[3].contains("a line is one request"), "{complaints:?}");
    assert!(complaints.iter().all(|line| !line.contains("at line 1")), "{complaints:?}");
}

#[test]
fn takes_the_standard_input_and_nothing_twice() {
    let operator = Operator::with_database();
    let lines: String = (0..250).map(|number| request(number, EMAIL) + "\n").collect();
    let first = operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    assert_eq!(first, "new 250, replayed 0, in conflict 0, refused 0\n");
    let again = operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    assert_eq!(again, "new 0, replayed 250, in conflict 0, refused 0\n");
    let nothing = operator.run_with(&["notify", "-"], b"").succeeded();
    assert_eq!(nothing, "new 0, replayed 0, in conflict 0, refused 0\n");
}

#[tokio::test]
async fn one_entry_that_the_database_refuses_takes_no_other_with_it() {
    let operator = Operator::with_database();
    refuse_in_the_database(&operator, "b77").await;
    let lines: String = (0..150).map(|number| request(number, EMAIL) + "\n").collect();
    operator.write("in.jsonl", lines);
    let ended = operator.run(&["notify", "in.jsonl"]);
    assert_eq!(ended.out, "new 149, replayed 0, in conflict 0, refused 1\n", "{ended:?}");
    let complaint = ended.failed(1);
    assert!(complaint.starts_with("line 78: ") && complaint.contains("poison"), "{complaint}");
}

/// Lets the database refuse every request that contains a word.
async fn refuse_in_the_database(operator: &Operator, word: &str) {
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    let trigger = format!(
        "CREATE TRIGGER poison BEFORE INSERT ON claimstream_notification_request WHEN instr(NEW.request, '{word}') > 0 \
         BEGIN SELECT RAISE(ABORT, 'poison'); END"
    );
    outbox.connection().execute_unprepared(&trigger).await.unwrap();
    outbox.connection().clone().close().await.unwrap();
}

#[test]
fn what_was_written_is_not_held_back_for_what_may_come() {
    let operator = Operator::with_database();
    let mut command = operator.command(&["notify", "-"]);
    let mut running = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut input = running.0.stdin.take().unwrap();
    writeln!(input, "{}", request(1, EMAIL)).unwrap();
    eventually("the first line has gone in", || {
        operator.run(&["status"]).succeeded().contains("notification-requests")
    });
    writeln!(input, "{}", request(2, EMAIL)).unwrap();
    drop(input);
    assert!(running.end().success());
}

#[test]
fn another_request_under_a_known_id_is_named_and_never_dropped_in_silence() {
    let operator = Operator::with_database();
    let first = request(1, EMAIL);
    operator.write("first.jsonl", &first);
    operator.run(&["notify", "first.jsonl"]).succeeded();
    let other = first.replace("\"channels\"", "\"memo\":\"another\",\"channels\"");
    operator.write("again.jsonl", format!("{first}\n{other}\n{}\n", request(2, EMAIL)));
    let ended = operator.run(&["notify", "again.jsonl"]);
    assert_eq!(ended.out, "new 1, replayed 1, in conflict 1, refused 0\n", "{ended:?}");
    let complaint = ended.failed(1);
    assert!(complaint.starts_with("line 2: another request was taken in under this id"), "{complaint}");
}

#[test]
fn says_what_cannot_be_read() {
    let operator = Operator::with_database();
    assert!(operator.run(&["notify", "nowhere.jsonl"]).failed(1).contains("nowhere.jsonl cannot be read"));
    assert!(operator.run(&["notify", "."]).failed(1).contains("the input broke off"));
    assert!(operator.run(&["notify"]).failed(2).contains("Usage: claimstream notify"));
}
