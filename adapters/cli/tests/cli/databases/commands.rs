use serde_json::Value;

use super::{configure, delivered, hand_in, section, with_databases};
use crate::operator::{Operator, id, request};

/// The object of each line, by the name of its database.
fn objects(text: &str) -> Vec<(String, Value)> {
    let object = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        (value["database"].as_str().unwrap().to_owned(), value)
    };
    text.lines().map(object).collect()
}

#[test]
fn a_relay_empties_all_databases_and_status_shows_each() {
    let operator = with_databases(&["billing", "orders"]);
    hand_in(&operator, "orders", 0..20);
    hand_in(&operator, "billing", 100..110);
    let status = operator.run(&["status"]).succeeded();
    let (billing, orders) = status.split_once("database orders\n").unwrap();
    assert!(
        billing.starts_with("database billing\n") && billing.contains("notification-requests"),
        "{status}"
    );
    assert!(orders.contains(" 20 "), "{status}");
    let relayed = operator.run(&["relay", "--until-empty", "--log-format", "json"]);
    let events: Vec<Value> = relayed.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |name: &str| {
        events.iter().filter(|it| it["message"] == "pipelines ended" && it["database"] == name).count()
    };
    assert_eq!((named("billing"), named("orders")), (2, 2), "{}", relayed.err);
    assert!(relayed.err.contains("\"span\":{\"name\":\"orders\""), "{}", relayed.err);
    relayed.succeeded();
    let mut all = delivered(&operator);
    all.sort_unstable();
    assert_eq!(all, (0..20).chain(100..110).collect::<Vec<_>>());
    assert_eq!(
        operator.run(&["status"]).succeeded(),
        "database billing\nall queues are empty\n\ndatabase orders\nall queues are empty\n\n"
    );
}

#[test]
fn a_list_of_all_databases_is_a_line_of_json_for_each() {
    let operator = with_databases(&["billing", "orders"]);
    hand_in(&operator, "orders", 0..3);
    operator.run(&["relay", "--until-empty", "--set", "channels.email.provider=none"]).succeeded();
    for command in
        [&["status"][..], &["dead", "list"], &["dead", "reasons"], &["requests"], &["instances"], &["audit"]]
    {
        let printed = operator.run(&[command, &["--json"]].concat()).succeeded();
        let names: Vec<String> = objects(&printed).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["billing", "orders"], "{command:?}");
        // One that is named is shown as the only one.
        let alone = operator.run(&[command, &["--json", "--database", "orders"]].concat()).succeeded();
        let alone: Value = serde_json::from_str(&alone).unwrap();
        assert!(alone.get("database").is_none(), "{command:?}: {alone}");
    }
    let dead = objects(&operator.run(&["dead", "list", "--json"]).succeeded());
    let counts: Vec<usize> = dead.iter().map(|(_, list)| list["items"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [0, 3]);
    let revived = operator.run(&["dead", "revive", "--all", "--yes"]).succeeded();
    assert!(revived.contains("database orders\nrevived 3 dead letters\n"), "{revived}");
    let paused = operator.run(&["pause", "orders", "--by", "ann", "--json"]).succeeded();
    assert!(objects(&paused).iter().all(|(_, said)| said["changed"] == true), "{paused}");
    let place = operator.run(&["requests", "--after", &id(1)]).failed(2);
    assert!(place.contains("--after names a place in one database; name it with --database NAME"), "{place}");
}

#[test]
fn status_has_the_fields_that_the_page_has() {
    let page = include_str!("../../../../../docs/json.md");
    let section = page.split("## Several databases").nth(1).unwrap();
    let example = section.split("```json\n").nth(1).unwrap().split("\n```").next().unwrap();
    let names = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let printed = with_databases(&["orders"]).run(&["status", "--json"]).succeeded();
    assert_eq!(names(printed.trim()), names(example));
}

#[test]
fn one_thing_is_found_in_whichever_database_it_is() {
    let operator = with_databases(&["billing", "orders"]);
    hand_in(&operator, "orders", 0..3);
    let shown = operator.run(&["show", &id(2)]).succeeded();
    assert!(shown.starts_with("database orders\n") && shown.contains(&id(2)), "{shown}");
    assert!(operator.run(&["show", &id(9)]).failed(1).contains("there is no request"));
}

#[test]
fn what_is_about_one_database_wants_its_name() {
    let operator = with_databases(&["billing", "orders"]);
    let refused = operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).failed(2);
    assert!(refused.contains("name it with --database NAME, which is one of billing, orders"), "{refused}");
    let refused = operator.run(&["status", "--database", "order"]).failed(2);
    assert!(refused.contains("there is no database of this name; did you mean \"orders\"?"), "{refused}");
    let refused = Operator::with_database().run(&["status", "--database", "orders"]).failed(2);
    assert!(refused.contains("has no section [databases.NAME]; give a URL"), "{refused}");
    let refused = operator.run(&["serve", "--set", "serve.anonymous=true"]).failed(2);
    assert!(refused.contains("set serve.database"), "{refused}");
}

#[test]
fn a_database_that_is_being_emptied_takes_nothing_in_and_status_says_what_is_left() {
    let operator = with_databases(&["billing", "orders"]);
    hand_in(&operator, "orders", 0..3);
    let sections = section("billing", "sqlite://billing.db", "")
        + &section("orders", "sqlite://orders.db", "drain = true");
    configure(&operator, &sections);
    let refused = operator
        .run_with(&["notify", "-", "--database", "orders"], request(9, "\"email\"").as_bytes())
        .failed(1);
    assert!(
        refused.contains("database orders is being emptied") && refused.contains("drain = false"),
        "{refused}"
    );
    let refused = operator.run(&["serve", "--set", "serve.database=orders"]).failed(2);
    assert!(refused.contains("`serve.database`: database orders is being emptied"), "{refused}");
    let left = || operator.run(&["status"]).succeeded();
    assert!(left().contains("database orders, draining: 3 messages are left"), "{}", left());
    assert!(operator.run(&["doctor"]).out.contains("no command takes in new ones"));
    operator.run(&["relay", "--until-empty"]).succeeded();
    assert!(left().contains("database orders, drained: it is empty"), "{}", left());
    let json = objects(&operator.run(&["status", "--json"]).succeeded());
    assert_eq!([&json[0].1["draining"], &json[1].1["draining"]], [false, true]);
}

#[test]
fn a_database_that_is_away_is_one_error_and_the_others_are_shown() {
    let operator = with_databases(&["billing", "orders"]);
    hand_in(&operator, "orders", 0..3);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away = section("billing", &format!("mysql://me:hunter2@127.0.0.1:{port}/shop"), "");
    configure(&operator, &(away + &section("orders", "sqlite://orders.db", "")));
    for command in ["status", "instances"] {
        let ended = operator.run(&[command]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.out.contains("database orders\n") && !ended.out.contains("billing"), "{ended:?}");
        assert!(
            ended.err.contains("error: database billing: cannot open mysql://me:***@127.0.0.1"),
            "{ended:?}"
        );
    }
    let doctor = operator.run(&["doctor"]);
    assert!(doctor.code == Some(1) && doctor.out.contains("outbox of database billing\nFAIL "), "{doctor:?}");
    assert!(doctor.out.contains("outbox of database orders\nok "), "{doctor:?}");
    let relayed = operator.run(&["relay", "--until-empty"]);
    assert_eq!((relayed.code, delivered(&operator).len()), (Some(1), 3), "{relayed:?}");
}
