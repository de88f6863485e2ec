//! Promise: requests are listed page by page, and messages with their state

use serde_json::Value;

use crate::operator::{Operator, id, request};

fn json(operator: &Operator, arguments: &[&str]) -> Value {
    serde_json::from_str(&operator.run(&[arguments, &["--json"]].concat()).out).unwrap()
}

#[test]
fn requests_are_listed_page_by_page_newest_first() {
    let operator = Operator::with_database();
    assert_eq!(operator.run(&["requests"]).succeeded(), "there are no such requests\n");
    for number in 1..=5 {
        operator.run_with(&["notify", "-"], request(number, "\"email\"").as_bytes()).succeeded();
    }
    operator.run(&["cancel", &id(2)]).succeeded();
    let first = json(&operator, &["requests", "--limit", "2"]);
    let ids = |page: &Value| {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first), [id(5), id(4)]);
    assert!(first["items"][0]["taken_in_at"].as_str().unwrap().ends_with('Z'), "{first}");
    let next = json(&operator, &["requests", "--limit", "9", "--after", first["next"].as_str().unwrap()]);
    assert_eq!((ids(&next), &next["next"]), (vec![id(3), id(2), id(1)], &Value::Null));
    assert_eq!(ids(&json(&operator, &["requests", "--status", "CANCELLED"])), [id(2)]);
    assert_eq!(ids(&json(&operator, &["requests", "--requester", "unknown"])), Vec::<String>::new());
    let table = operator.run(&["requests", "--limit", "1"]);
    assert!(table.out.contains(&id(5)) && table.out.contains("service test"), "{table:?}");
    assert!(table.err.contains(&format!("there may be more; use --after {}", id(5))), "{table:?}");
    assert!(operator.run(&["requests", "--status", "LOST"]).failed(2).contains("--status"));
}

#[test]
fn messages_are_shown_where_they_stand() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let table = operator.run(&["messages", &id(1)]).succeeded();
    let cells: Vec<&str> = table.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(cells, [&id(1), "notification-requests", "due", "0", "due"]);
    let ended = operator.run(&["messages", &id(1), &id(9), "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let shown: Value = serde_json::from_str(&ended.out).unwrap();
    let [found, unknown] = shown["items"].as_array().unwrap().as_slice() else { panic!("{shown}") };
    assert_eq!((&found["state"], &found["queue"]), (&"due".into(), &"notification-requests".into()));
    assert_eq!((&unknown["id"], &unknown["state"]), (&id(9).into(), &Value::Null), "{shown}");
    operator.run(&["messages"]).failed(2);
    for command in ["show", "cancel", "messages"] {
        let refused = operator.run(&[command, "12"]).failed(2);
        assert!(refused.contains("an id is a UUID, such as 0190"), "{command}: {refused}");
    }
    assert!(operator.run(&["dead", "show", "12"]).failed(2).contains("an id is a UUID"));
    assert!(operator.run(&["sagas", "show", "transfer", "12"]).failed(2).contains("an id is a UUID"));
}

#[test]
fn instances_and_leases_are_listed_page_by_page() {
    let operator = Operator::with_database();
    assert_eq!(
        operator.run(&["instances"]).succeeded(),
        "no instance is listed; one lists itself when it claims messages, but not under shard_lease: `leases` lists those\n"
    );
    assert!(operator.run(&["leases"]).succeeded().starts_with("no shard has a lease"));
    operator.run_with(&["notify", "-"], request(90, "\"email\"").as_bytes()).succeeded();
    operator.deliver(&["--set", "relay.label=night"]).succeeded();
    let lines: String = (1..=20).map(|number| request(number, "\"email\"") + "\n").collect();
    operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    operator.deliver(&["--strategy", "shard_lease"]).succeeded();
    let instances = json(&operator, &["instances"]);
    assert_eq!((&instances["items"][0]["label"], &instances["next"]), (&"night".into(), &Value::Null));
    assert!(operator.run(&["instances"]).succeeded().contains("night"));
    let all = json(&operator, &["leases"]);
    let all = all["items"].as_array().unwrap();
    assert!(all.len() > 2 && all.iter().all(|lease| lease["in_flight"] == 0), "{all:?}");
    let (mut paged, mut after) = (Vec::new(), None::<String>);
    loop {
        let place = after.iter().flat_map(|place| ["--after", place]);
        let page = json(&operator, &["leases", "--limit", "2"].into_iter().chain(place).collect::<Vec<_>>());
        paged.extend(
            page["items"].as_array().unwrap().iter().map(|it| (it["queue"].clone(), it["shard"].clone())),
        );
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    let whole: Vec<_> = all.iter().map(|it| (it["queue"].clone(), it["shard"].clone())).collect();
    assert_eq!(paged, whole);
    assert!(operator.run(&["leases"]).succeeded().starts_with("QUEUE "));
    for list in ["leases", "instances"] {
        assert!(operator.run(&[list, "--after", "?"]).failed(2).contains("take it from the page before"));
    }
}
