//! Promise: a revival or purge that fails half way reports its progress, also in the audit log, and the same
//! command does the rest; it shows first how many it would change

use std::process::Stdio;

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::ConnectionTrait;
use serde_json::Value;

use crate::operator::{Operator, Running, id, request};

/// Three requests whose text messages no provider delivers.
pub(crate) fn with_dead_letters() -> Operator {
    let operator = Operator::with_database();
    let lines: String = (1..=3).map(|number| request(number, "\"sms\"") + "\n").collect();
    operator.run_with(&["notify", "-"], lines.as_bytes()).succeeded();
    operator.run(&["relay", "--until-empty", "--set", "channels.email.provider=log"]).succeeded();
    operator
}

fn json(operator: &Operator, arguments: &[&str]) -> Value {
    serde_json::from_str(&operator.run(&[arguments, &["--json"]].concat()).succeeded()).unwrap()
}

fn ids(operator: &Operator) -> Vec<String> {
    let listed = json(operator, &["dead", "list"]);
    listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|letter| letter["id"].as_str().unwrap().to_owned())
        .collect()
}

const WHY: &str = "no provider is set for the channel sms; add one to the message handler's providers";

#[test]
fn are_listed_and_shown() {
    let operator = with_dead_letters();
    let list = operator.run(&["dead", "list"]).succeeded();
    assert!(list.starts_with("ID ") && list.contains(WHY), "{list}");
    assert_eq!(list.lines().count(), 4);
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
    assert!(operator.run(&["dead", "list", "--limit", "0"]).failed(2).contains("--limit"));
    let failed = operator.run(&["show", &id(1)]).succeeded();
    assert!(failed.contains("FAILED") && failed.contains("1 failed"), "{failed}");
}

#[test]
fn a_list_is_read_page_by_page_and_without_what_letters_carry() {
    let operator = with_dead_letters();
    let all = ids(&operator);
    let few = operator.run(&["dead", "list", "--limit", "2"]);
    assert!(few.err.contains("there may be more; use --after "), "{few:?}");
    let page = json(&operator, &["dead", "list", "--limit", "2"]);
    let (items, next) = (page["items"].as_array().unwrap(), page["next"].as_str().unwrap());
    assert!(items.len() == 2 && items[0].get("payload").is_none(), "{page}");
    assert!(items[0]["died_at"].as_str().unwrap().ends_with('Z'), "{page}");
    // A page goes on where the one before ended, whatever has become of the letter that was there.
    operator.run(&["dead", "purge", "--id", &all[1], "--yes"]).succeeded();
    let rest = json(&operator, &["dead", "list", "--after", next]);
    assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&all[2].as_str().into(), &Value::Null), "{rest}");
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    assert!(
        operator.run(&["dead", "list", "--after", "x"]).failed(2).contains("take it from the page before")
    );
}

#[test]
fn are_counted_and_chosen_by_their_reason() {
    let operator = with_dead_letters();
    let reasons = json(&operator, &["dead", "reasons"]);
    let group = &reasons["items"][0];
    assert_eq!(
        (&group["letters"], &group["queue"]),
        (&3.into(), &"notification-messages".into()),
        "{reasons}"
    );
    assert_eq!((group["reason"].as_str(), &reasons["complete"]), (Some(WHY), &true.into()), "{reasons}");
    let table = operator.run(&["dead", "reasons"]).succeeded();
    assert!(table.starts_with("LETTERS  QUEUE") && table.contains(WHY), "{table}");
    let some = operator.run(&["dead", "reasons", "--limit", "2"]);
    assert!(some.err.contains("only the newest 2 were counted"), "{some:?}");
    assert_eq!(json(&operator, &["dead", "list", "--reason", WHY])["items"].as_array().unwrap().len(), 3);
    assert_eq!(json(&operator, &["dead", "list", "--reason", "no"])["items"].as_array().unwrap().len(), 0);
    let kept = operator.run(&["dead", "purge", "--reason", "no", "--yes"]).succeeded();
    assert_eq!(kept, "purged 0 dead letters\n");
    let gone = operator.run(&["dead", "purge", "--reason", WHY, "--yes"]).succeeded();
    assert_eq!(gone, "purged 3 dead letters\n");
}

#[test]
fn are_changed_only_where_it_is_said_which_and_after_a_look() {
    let operator = with_dead_letters();
    for (change, done) in [("revive", "revived"), ("purge", "purged")] {
        let refused = operator.run(&["dead", change]).failed(2);
        assert!(refused.contains("--all"), "{refused}");
        operator.run(&["dead", change, "--all", "--queue", "q"]).failed(2);
        let looked = operator.run(&["dead", change, "--all"]).succeeded();
        let said =
            format!("3 dead letters would be {done}; nothing was changed, give --yes to {change} them\n");
        assert_eq!(looked, said);
        let looked = json(&operator, &["dead", change, "--limit", "2"]);
        assert_eq!((&looked["action"], &looked["matched"]), (&change.into(), &2.into()), "{looked}");
        assert_eq!((&looked["changed"], &looked["done"]), (&0.into(), &false.into()), "{looked}");
        let none = operator.run(&["dead", change, "--queue", "other"]).succeeded();
        assert_eq!(none, "there are no such dead letters\n");
    }
    assert_eq!(ids(&operator).len(), 3);
}

#[test]
fn are_revived_and_purged() {
    let operator = with_dead_letters();
    let all = ids(&operator);
    let revived = operator.run(&["dead", "revive", "--id", &all[0], "--id", &id(9), "--yes"]).succeeded();
    assert_eq!(revived, "revived 1 dead letter\n");
    assert!(!ids(&operator).contains(&all[0]));
    let status = operator.run(&["status", "--json"]).succeeded();
    assert!(status.contains("\"due\":1") && status.contains("\"dead\":2"), "{status}");
    let purged = operator.run(&["dead", "purge", "--limit", "1", "--yes"]).succeeded();
    assert_eq!(purged, "purged 1 dead letter\n");
    let revived = json(&operator, &["dead", "revive", "--queue", "notification-messages", "--yes"]);
    assert_eq!((&revived["changed"], &revived["done"]), (&1.into(), &true.into()), "{revived}");
    for (change, done) in [("purge", "purged"), ("revive", "revived")] {
        let none = operator.run(&["dead", change, "--all", "--yes"]).succeeded();
        assert_eq!(none, format!("{done} 0 dead letters\n"));
    }
}

/// Guard: the end of a change is recorded before it is printed | src/command/dead_change.rs `run`: after it
#[test]
fn a_reader_that_closes_the_output_does_not_take_the_end_out_of_the_audit_log() {
    let operator = with_dead_letters();
    let mut purge = operator.command(&["dead", "purge", "--all", "--yes"]);
    let mut running = Running(purge.stdout(Stdio::piped()).spawn().unwrap());
    drop(running.0.stdout.take());
    assert_eq!(running.end().code(), Some(0));
    let entries = json(&operator, &["audit"]);
    assert_eq!(
        (&entries["items"][0]["action"], &entries["items"][0]["count"]),
        (&"purged".into(), &3.into())
    );
}

/// The database refuses the oldest of 501 letters.
/// Guard: the end of a change is recorded after an error | src/command/dead_change.rs `run`: the error ends
/// it
#[tokio::test]
async fn a_change_that_fails_half_way_says_how_far_it_came_and_the_rest_is_done_by_the_next() {
    let operator = with_dead_letters();
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    let execute = async |sql: &str| outbox.connection().execute_unprepared(sql).await.unwrap();
    execute(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 498)
         INSERT INTO claimstream_dead
         SELECT randomblob(16), queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at - 1000000 * n
           FROM (SELECT * FROM claimstream_dead LIMIT 1) some, numbers",
    )
    .await;
    execute(
        "CREATE TRIGGER refuses BEFORE DELETE ON claimstream_dead
         WHEN OLD.died_at = (SELECT MIN(died_at) FROM claimstream_dead)
         BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    )
    .await;
    let refused = operator.run(&["dead", "purge", "--all", "--yes"]).failed(1);
    assert!(refused.contains("400 dead letters were purged before"), "{refused}");
    let entries = json(&operator, &["audit"]);
    assert_eq!(
        (&entries["items"][0]["action"], &entries["items"][0]["count"]),
        (&"purged".into(), &400.into())
    );
    execute("DROP TRIGGER refuses").await;
    assert_eq!(operator.run(&["dead", "purge", "--all", "--yes"]).succeeded(), "purged 101 dead letters\n");
}
