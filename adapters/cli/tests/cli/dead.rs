use serde_json::Value;

use crate::operator::{Operator, id, request};

/// Three requests whose text messages nobody delivers.
fn with_dead_letters() -> Operator {
    let operator = Operator::with_database();
    let lines: String = (1..=3).map(|number| request(number, "\"sms\"") + "\n").collect();
    operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    operator.run(&["relay", "--until-empty", "--set", "channels.email.provider=log"]).succeeded();
    operator
}

fn ids(operator: &Operator) -> Vec<String> {
    let listed = operator.run(&["dead", "list", "--json"]).succeeded();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    listed.as_array().unwrap().iter().map(|letter| letter["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn are_listed_and_shown() {
    let operator = with_dead_letters();
    let list = operator.run(&["dead", "list"]).succeeded();
    assert!(list.starts_with("ID ") && list.contains("no provider is set for the channel sms"), "{list}");
    assert_eq!(list.lines().count(), 4);
    let few = operator.run(&["dead", "list", "--limit", "2"]);
    assert!(few.err.contains("there may be more; use --limit"), "{few:?}");
    let first = ids(&operator).remove(0);
    let shown = operator.run(&["dead", "show", &first]).succeeded();
    assert!(
        shown.contains("queue         notification-messages") && shown.contains("\"channel\": \"sms\""),
        "{shown}"
    );
    let none = operator.run(&["dead", "list", "--queue", "other"]).succeeded();
    assert_eq!(none, "there are no such dead letters\n");
    let none = operator.run(&["dead", "list", "--older-than", "1h"]).succeeded();
    assert_eq!(none, "there are no such dead letters\n");
    assert!(operator.run(&["dead", "show", &id(9)]).failed(1).contains("there is no dead letter"));
    assert!(operator.run(&["dead", "list", "--older-than", "soon"]).failed(2).contains("--older-than"));
    let failed = operator.run(&["show", &id(1)]).succeeded();
    assert!(failed.contains("FAILED") && failed.contains("1 failed"), "{failed}");
}

#[test]
fn are_changed_only_where_it_is_said_which() {
    let operator = with_dead_letters();
    for change in ["revive", "purge"] {
        let refused = operator.run(&["dead", change]).failed(2);
        assert!(refused.contains("--all"), "{refused}");
        operator.run(&["dead", change, "--all", "--queue", "q"]).failed(2);
    }
    let asked = operator.run(&["dead", "purge", "--all"]).failed(1);
    assert!(asked.contains("3 dead letters match, give --yes"), "{asked}");
    assert_eq!(ids(&operator).len(), 3);
}

#[test]
fn are_revived_and_purged() {
    let operator = with_dead_letters();
    let all = ids(&operator);
    let revived = operator.run(&["dead", "revive", "--id", &all[0], "--id", &id(9)]).succeeded();
    assert_eq!(revived, "revived 1\n");
    assert!(!ids(&operator).contains(&all[0]));
    let status = operator.run(&["status", "--json"]).succeeded();
    assert!(status.contains("\"due\":1") && status.contains("\"dead\":2"), "{status}");
    assert_eq!(operator.run(&["dead", "purge", "--limit", "1", "--yes"]).succeeded(), "purged 1\n");
    let queue = ["--queue", "notification-messages"];
    assert_eq!(operator.run(&[&["dead", "revive"], &queue[..]].concat()).succeeded(), "revived 1\n");
    assert_eq!(operator.run(&["dead", "purge", "--all", "--yes"]).succeeded(), "purged 0\n");
    assert_eq!(operator.run(&["dead", "revive", "--all"]).succeeded(), "revived 0\n");
}
