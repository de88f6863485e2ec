//! Messages of a category that become one, through the built program.

use serde_json::{Value, json};

use crate::operator::{Operator, eventually, id};

const FILE: &str =
    "[notifications]\ntemplates = \"templates.json\"\ncategory_digests = \"news 2s, daily 2s several\"\n";

fn notify(operator: &Operator, number: u32, category: &str) {
    let request = json!({
        "id": id(number), "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": "ann@example.com"}],
        "channels": ["email"], "category": category, "content": {"title": format!("T{number}"), "body": "text"},
    });
    operator.run_with(&["notify", "-"], format!("{request}\n").as_bytes()).succeeded();
}

fn records(operator: &Operator, number: u32) -> (String, String) {
    let shown = operator.run(&["show", &id(number), "--json"]).succeeded();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let text = |key: &str| shown["messages"][0][key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

#[test]
fn messages_of_a_category_are_delivered_as_one_when_their_window_is_over() {
    let operator = Operator::with_database();
    operator.write("claimstream.toml", FILE);
    let body = "{% for item in items %}<{{ item.title }}>{% endfor %}";
    let templates = json!({
        "default_language": "en",
        "templates": [
            {"id": "several", "channel": "email", "language": "en", "title": "{{ count }} today", "body": body}
        ],
        "variables": {"several": {"items": {}, "count": {}}},
    });
    operator.write("templates.json", templates.to_string());
    for (number, category) in [(1, "news"), (2, "news"), (3, "daily"), (4, "daily"), (5, "other")] {
        notify(&operator, number, category);
    }
    operator.run(&["cancel", &id(4)]).succeeded();
    let deliver = || operator.deliver(&["--set", "channels.default.show_content=true"]).succeeded();
    deliver();
    assert_eq!(records(&operator, 1), ("PENDING".into(), "part of a digest".into()));
    eventually("digests are delivered", || {
        deliver();
        operator.lines("out.jsonl").len() == 3
    });
    let lines = operator.lines("out.jsonl");
    let said = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!([said("T1 (+1)"), said("1 today"), said("<T3>"), said("\"T5\"")], [1; 4], "{lines:?}");
    for number in [1, 2] {
        let (status, reason) = records(&operator, number);
        assert_eq!(status, "DELIVERED");
        assert!(reason.starts_with("in the digest ") && reason.ends_with(", one of 2"), "{reason}");
    }
}

#[test]
fn a_digest_without_a_window_is_refused_by_its_key() {
    let operator = Operator::with_database();
    operator.write("claimstream.toml", "[notifications]\ncategory_digests = \"news\"\n");
    let why = operator.run(&["status"]).failed(2);
    assert!(why.contains("notifications.category_digests") && why.contains("orders 1h"), "{why}");
}
