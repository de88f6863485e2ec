use serde_json::Value;

use crate::operator::{Operator, id, request};

fn later(number: u32) -> String {
    request(number, "\"email\"").replace("\"content\"", "\"delay_ms\":1500,\"content\"")
}

#[test]
fn is_cancelled_before_it_begins_and_not_after() {
    let operator = Operator::with_database();
    operator
        .run_with(&["notify", "-"], [later(1), request(2, "\"email\"")].join("\n").as_bytes())
        .succeeded();
    for _ in 0..2 {
        let answer = operator.run(&["cancel", &id(1)]).succeeded();
        let counts = "0 messages taken back, at most 0 of them in a provider's hands, 0 delivered before";
        assert_eq!(answer, format!("cancelled {}: {counts}\n", id(1)));
    }
    assert!(operator.run(&["cancel", &id(3)]).failed(1).contains("there is no request"));
    std::thread::sleep(std::time::Duration::from_millis(1600));
    operator.deliver(&[]).succeeded();
    assert_eq!(operator.lines("out.jsonl").len(), 1);
    assert!(operator.run(&["cancel", &id(2)]).failed(1).contains("too late"));
    assert!(operator.run(&["show", &id(1)]).succeeded().contains("CANCELLED"));
    assert_eq!(operator.run(&["status"]).succeeded(), "all queues are empty\n");
}

#[test]
fn is_shown_with_its_messages() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\",\"sms\",\"push\"").as_bytes()).succeeded();
    let pending = operator.run(&["show", &id(1)]).succeeded();
    assert!(pending.contains("status    PENDING") && !pending.contains("MESSAGE"), "{pending}");
    operator.deliver(&[]).succeeded();
    let shown = operator.run(&["show", &id(1)]).succeeded();
    assert!(shown.contains("2 delivered, 1 skipped"), "{shown}");
    assert!(shown.contains("SKIPPED") && shown.contains("the recipient has no address for push"), "{shown}");
    let json: Value = serde_json::from_str(&operator.run(&["show", &id(1), "--json"]).succeeded()).unwrap();
    assert_eq!((&json["delivered"], json["messages"].as_array().unwrap().len()), (&2.into(), 3));
    let few = operator.run(&["show", &id(1), "--limit", "2"]);
    assert!(few.err.contains("1 more messages; use --limit 3"), "{few:?}");
    assert!(operator.run(&["show", &id(2)]).failed(1).contains("there is no request"));
    assert!(operator.run(&["show", "seven"]).failed(2).contains("invalid value 'seven'"));
}

#[test]
fn a_recipient_is_erased_and_the_counts_stay() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    operator.deliver(&[]).succeeded();
    let key = "direct:a1@example.com|+4900001|||";
    assert!(operator.run(&["show", &id(1)]).succeeded().contains(key));
    let erased = operator.run(&["recipient", "erase", key]).succeeded();
    assert!(erased.starts_with("erased in 1 requests, 1 messages, "), "{erased}");
    let shown = operator.run(&["show", &id(1)]).succeeded();
    assert!(shown.contains("1 delivered") && !shown.contains("a1@example.com"), "{shown}");
    let again = operator.run(&["recipient", "erase", key]).succeeded();
    assert_eq!(again, "erased in 0 requests, 0 messages, 0 payloads and 0 dead letters\n");
}
