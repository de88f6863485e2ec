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
    assert_eq!(ids(&json(&operator, &["requests", "--requester", "nobody"])), Vec::<String>::new());
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
}
