//! Promise: a pending delivery shows its attempt, its next attempt and its last error; `show` and `cancel`
//! report the same of a request, and a cancelled one counts in no queue's depth

use serde_json::Value;

use crate::operator::{Operator, eventually, id, request};

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
    let status: Value = serde_json::from_str(&operator.run(&["status", "--json"]).succeeded()).unwrap();
    assert_eq!(status["queues"][0]["depth"], 1, "a cancelled request waits in no queue: {status}");
    assert!(operator.run(&["cancel", &id(3)]).failed(1).contains("there is no request"));
    // One that is due later than the cancelled one would be: where it is delivered, that time has passed.
    operator.run_with(&["notify", "-"], later(4).as_bytes()).succeeded();
    eventually("the later one is delivered", || {
        operator.deliver(&[]).succeeded();
        operator.run(&["show", &id(4)]).out.contains("1 delivered")
    });
    assert_eq!(operator.lines("out.jsonl").len(), 2);
    let late = operator.run(&["cancel", &id(2)]).failed(1);
    let shown: Value = serde_json::from_str(&operator.run(&["show", &id(2), "--json"]).succeeded()).unwrap();
    let status = shown["status"].as_str().unwrap();
    assert!(late.contains("too late") && late.contains(&format!("is {status}")), "{late} {shown}");
    assert!(operator.run(&["show", &id(1)]).succeeded().contains("CANCELLED"));
    assert_eq!(operator.run(&["status"]).succeeded(), "all queues are empty\n");
}

/// A request of which no message was delivered stands in its row as one that was handed on; both commands look at its messages too.
#[test]
fn show_and_cancel_say_the_same_of_a_request_that_failed() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"sms\"").as_bytes()).succeeded();
    operator.deliver(&["--set", "channels.sms.provider=none"]).succeeded();
    let shown: Value = serde_json::from_str(&operator.run(&["show", &id(1), "--json"]).succeeded()).unwrap();
    assert_eq!(shown["status"], "FAILED");
    let late = operator.run(&["cancel", &id(1)]).failed(1);
    assert!(late.contains(&format!("too late: {} is FAILED", id(1))), "{late}");
}

/// A request that waits and was taken back is counted nowhere.
#[test]
fn a_delayed_request_that_was_cancelled_leaves_the_depth_at_once() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], later(1).replace("1500", "86400000").as_bytes()).succeeded();
    assert!(operator.run(&["status", "--json"]).succeeded().contains("\"scheduled\":1"));
    operator.run(&["cancel", &id(1)]).succeeded();
    assert_eq!(operator.run(&["status"]).succeeded(), "all queues are empty\n");
}

#[test]
fn a_delivery_that_fails_is_shown_with_its_attempt_its_next_try_and_its_error() {
    let operator = Operator::with_database();
    let failing =
        request(1, "\"webhook\"").replace("\"email\":", "\"webhook\":\"http://127.0.0.1:1/x\",\"email\":");
    let tomorrow = later(2).replace("1500", "86400000");
    operator.run_with(&["notify", "-"], [failing, tomorrow].join("\n").as_bytes()).succeeded();
    let waiting = operator.run(&["show", &id(2)]).succeeded();
    assert!(waiting.contains("attempt   0, next in "), "{waiting}");
    let settings = ["channels.webhook.provider=webhook", "channels.webhook.allow_private=127.0.0.0/8"];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    operator.run(&["relay", "--until-empty"].into_iter().chain(settings).collect::<Vec<_>>()).succeeded();

    let shown = operator.run(&["show", &id(1)]).succeeded();
    let cells: Vec<&str> = shown.lines().last().unwrap().split_whitespace().collect();
    assert_eq!((cells[1], cells[3], cells[4], cells[5]), ("webhook", "PENDING", "1", "in"), "{shown}");
    assert!(
        shown.contains("ATTEMPT  NEXT") && shown.contains("no connection to http://127.0.0.1:1"),
        "{shown}"
    );
    let json: Value = serde_json::from_str(&operator.run(&["show", &id(1), "--json"]).succeeded()).unwrap();
    let message = &json["messages"][0];
    assert_eq!((&message["state"], &message["attempt"]), (&"retrying".into(), &1.into()), "{json}");
    assert!(message["next_try_at"].as_str().unwrap().ends_with('Z'), "{json}");
    assert!(message["last_error"].as_str().unwrap().contains("no connection"), "{json}");

    let status: Value = serde_json::from_str(&operator.run(&["status", "--json"]).succeeded()).unwrap();
    let of = |name: &str| {
        let queue = status["queues"].as_array().unwrap().iter().find(|queue| queue["queue"] == name).unwrap();
        (queue["retrying"].as_u64().unwrap(), queue["scheduled"].as_u64().unwrap())
    };
    assert_eq!((of("notification-messages"), of("notification-requests")), ((1, 0), (0, 1)), "{status}");
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
