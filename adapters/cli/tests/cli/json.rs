//! Promise: every command prints the JSON that `docs/json.md` shows

use std::collections::BTreeSet;

use claimstream_domain::{QueueName, timer_event::Tick};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    operator::{Operator, id, request},
    runs::Ledger,
};

const PAGE: &str = include_str!("../../../../docs/json.md");

/// The example of a command on the page.
#[track_caller]
fn example(command: &str) -> Value {
    let heading = format!("## `{command}`");
    let section = PAGE.split("\n## ").map(|section| format!("## {section}"));
    let mut found =
        section.filter(|section| section.lines().next().is_some_and(|line| line.starts_with(&heading)));
    let section = found.next().unwrap_or_else(|| panic!("the page has no {heading}"));
    let example = section.split("```json\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
    serde_json::from_str(example).unwrap()
}

/// The names of all fields with those that they stand in; a list counts by its first entry, and what a payload or headers have is not ours.
fn fields(value: &Value, place: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let place = format!("{place}.{name}");
                if !["payload", "headers"].contains(&name.as_str()) {
                    fields(value, &place, into);
                }
                into.insert(place);
            }
        }
        Value::Array(list) => {
            list.iter().take(1).for_each(|value| fields(value, &format!("{place}[]"), into));
        }
        _ => {}
    }
}

fn shape(value: &Value) -> BTreeSet<String> {
    let mut into = BTreeSet::new();
    fields(value, "", &mut into);
    into
}

/// Every moment ends with the letter that stands for UTC.
fn assert_moments(value: &Value) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let is_moment = name.ends_with("_at") && value.is_string();
                assert!(!is_moment || value.as_str().unwrap().ends_with('Z'), "{name}: {value}");
                assert_moments(value);
            }
        }
        Value::Array(list) => list.iter().for_each(assert_moments),
        _ => {}
    }
}

#[track_caller]
fn assert_documented(operator: &Operator, command: &str, arguments: &[&str], input: &str) {
    let ended = operator.run_with(&[arguments, &["--json"]].concat(), input.as_bytes());
    assert_eq!(ended.out.lines().count(), 1, "{command}: {ended:?}");
    let printed: Value = serde_json::from_str(&ended.out).unwrap();
    assert_moments(&printed);
    assert_eq!(shape(&printed), shape(&example(command)), "{command}: {printed}");
}

#[test]
fn templates_are_answered_in_the_shapes_of_the_page() {
    let author = Operator::with_database();
    std::fs::create_dir_all(author.path("templates/hello")).unwrap();
    author.write("templates/hello/template.toml", "default_language = \"en\"\n");
    author.write("templates/hello/email.en.txt", "Hello\n");
    let check = |command: &str, arguments: &[&str]| assert_documented(&author, command, arguments, "");
    check("templates diff", &["templates", "diff"]);
    check("templates push", &["templates", "push"]);
    check("templates publish", &["templates", "publish", "hello"]);
    check("templates list", &["templates", "list"]);
    check("templates pull", &["templates", "pull", "elsewhere"]);
    check("templates preview", &["templates", "preview", "hello", "--channel", "email"]);
}

#[test]
fn lists_are_read_on_from_their_place() {
    let operator = Operator::with_database();
    for name in ["ann", "bob", "eve"] {
        let address = format!("{name}@example.com");
        operator.run(&["suppressions", "add", "email", &address, "--reason", "bounced"]).succeeded();
    }
    let (mut addresses, mut place) = (BTreeSet::new(), None::<String>);
    for _ in 0..4 {
        let mut arguments = vec!["suppressions", "list", "--limit", "1", "--json"];
        arguments.extend(place.iter().flat_map(|place| ["--after", place.as_str()]));
        let page: Value = serde_json::from_str(&operator.run(&arguments).succeeded()).unwrap();
        addresses.extend(page["items"].as_array().unwrap().iter().map(|one| one["address"].to_string()));
        place = page["next"].as_str().map(str::to_owned);
        if place.is_none() {
            break;
        }
    }
    assert_eq!((addresses.len(), place), (3, None));
    assert!(operator.run(&["suppressions", "list", "--after", "ann"]).failed(2).contains("--after"));
    assert!(operator.run(&["suppressions", "list", "--limit", "0"]).failed(2).contains("--limit"));
}

#[test]
fn every_command_prints_the_fields_that_the_page_has() {
    let operator = Operator::at("sqlite://claimstream.db");
    let check = |command: &str, arguments: &[&str]| assert_documented(&operator, command, arguments, "");
    check("schema plan", &["schema", "plan"]);
    check("schema apply", &["schema", "apply", "--for", "notifications,steps"]);
    check("schema reshard 64", &["schema", "reshard", "64"]);
    let failing =
        request(1, "\"webhook\"").replace("\"email\":", "\"webhook\":\"http://127.0.0.1:1/x\",\"email\":");
    assert_documented(&operator, "notify", &["notify", "-"], &failing);
    let more = [
        request(2, "\"sms\""),
        request(3, "\"email\"").replace("\"content\"", "\"delay_ms\":60000000,\"content\""),
    ];
    operator.run_with(&["notify", "-"], more.join("\n").as_bytes()).succeeded();
    let settings = ["channels.webhook.provider=webhook", "channels.webhook.allow_private=127.0.0.0/8"];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    operator.run(&["relay", "--until-empty"].into_iter().chain(settings).collect::<Vec<_>>()).succeeded();

    check("status", &["status"]);
    check("show", &["show", &id(1)]);
    let shown = operator.run(&["show", &id(1), "--attempts", "--json"]).succeeded();
    let attempts =
        serde_json::json!({"attempts": serde_json::from_str::<Value>(&shown).unwrap()["attempts"]});
    assert_eq!(shape(&attempts), shape(&example("show --attempts")), "{shown}");
    let waiting: Value =
        serde_json::from_str(&operator.run(&["show", &id(3), "--json"]).succeeded()).unwrap();
    assert_eq!(
        (&waiting["outbox"]["state"], &waiting["outbox"]["attempt"]),
        (&"scheduled".into(), &0.into())
    );
    check("requests", &["requests"]);
    check("messages", &["messages", &id(3)]);
    operator.run_with(&["notify", "-"], request(4, "\"email\"").as_bytes()).succeeded();
    operator.deliver(&["--strategy", "shard_lease"]).succeeded();
    check("instances", &["instances"]);
    check("leases", &["leases"]);
    let release = ["leases", "release", "notification-requests/0", "--fence", "1", "--by", "ann"];
    check("leases release", &release);
    operator.deliver(&["--strategy", "lock_guarded", "--set", "database.lock=database"]).succeeded();
    check("locks", &["locks"]);
    check("locks release", &["locks", "release", "jobs", "--fence", "1", "--by", "ann"]);
    check("pause", &["pause", "orders", "--by", "ann"]);
    check("resume", &["resume", "orders", "--by", "ann"]);
    check("audit", &["audit"]);
    check("cancel", &["cancel", &id(3)]);
    check("dead list", &["dead", "list"]);
    check("dead reasons", &["dead", "reasons"]);
    let listed: Value = serde_json::from_str(&operator.run(&["dead", "list", "--json"]).succeeded()).unwrap();
    check("dead show", &["dead", "show", listed["items"][0]["id"].as_str().unwrap()]);
    check("dead revive` and `dead purge", &["dead", "revive", "--all"]);
    check("dead revive` and `dead purge", &["dead", "purge", "--all"]);
    check("doctor", &["doctor"]);
    check("doctor --after-failover", &["doctor", "--after-failover"]);
    check(
        "suppressions add` and `suppressions remove",
        &["suppressions", "add", "email", "bob@example.com", "--reason", "bounced"],
    );
    check("suppressions list", &["suppressions", "list"]);
    check(
        "suppressions add` and `suppressions remove",
        &["suppressions", "remove", "email", "bob@example.com"],
    );
    check("recipient erase", &["recipient", "erase", "user:u-1"]);
    let user = "{\"user\":\"u-1\",\"email\":\"ann@example.com\"}\n";
    assert_documented(
        &operator,
        "directory import",
        &["directory", "import", "-", "--format", "jsonl"],
        user,
    );
    check("directory show", &["directory", "show", "u-1"]);
    let opted_out = ["recipient", "preferences", "user:u-1", "--change", "email/marketing=off"];
    check("recipient preferences", &opted_out);
    check("bench", &["bench", "--yes", "--seconds", "0.2"]);
    let config: Value =
        serde_json::from_str(&operator.run(&["config", "print", "--json"]).succeeded()).unwrap();
    assert_eq!(shape(&config["log.format"]), shape(&example("config print")["log.format"]), "{config}");
    assert_eq!(
        (&config["log.format"]["value"], &config["relay.batch"]["value"]),
        (&"text".into(), &100.into())
    );
}

#[tokio::test]
async fn commands_of_sagas_transactions_and_timers_print_the_fields_that_the_page_has() {
    let ledger = Ledger::open().await;
    let saga = Uuid::from_u128(7);
    let id = saga.to_string();
    ledger.begin("saga:transfer", &id, &[("", 1), ("debit", 1)]).await;
    ledger.note("saga:transfer", saga).await;
    ledger.begin("tcc-global", "order-8", &[("", 1)]).await;
    ledger.begin("tcc", "order-8", &[("stock", 0)]).await;
    let tick = Tick { scheme: "bill".parse().unwrap(), occurrence: "2026-12-01T02:00:00Z".parse().unwrap() };
    ledger.enqueue(tick.message(&QueueName::new("timers").unwrap()).unwrap()).await;
    ledger.begin("timer:bill", &tick.unique_code(), &[("", 0), ("decision:close-month", 1)]).await;
    let check =
        |command: &str, arguments: &[&str]| assert_documented(&ledger.operator, command, arguments, "");
    check("sagas", &["sagas"]);
    check("sagas show", &["sagas", "show", "transfer", &id]);
    check("sagas continue", &["sagas", "continue", "transfer", &id]);
    check("tcc", &["tcc"]);
    check("tcc show", &["tcc", "show", "order-8"]);
    check("timers", &["timers"]);
    check("timers events", &["timers", "events"]);
    check("timers show", &["timers", "show", "bill", "2026-12-01T02:00:00Z"]);
}
