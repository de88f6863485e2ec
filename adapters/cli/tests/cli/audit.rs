//! Promise: a pause of a paused queue and a resumption of a running one have no entry in the audit log; a
//! resharding has one before it begins, when all shards are open, and when it ends

use serde_json::Value;

use crate::{
    dead::with_dead_letters,
    operator::{Operator, id, request},
};

/// Actor, action, subject and count of each entry, the oldest first.
fn entries(operator: &Operator) -> Vec<(String, String, String, Option<u64>)> {
    let listed: Value = serde_json::from_str(&operator.run(&["audit", "--json"]).succeeded()).unwrap();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    let items = listed["items"].as_array().unwrap().iter().rev();
    items
        .map(|entry| {
            (text(entry, "actor"), text(entry, "action"), text(entry, "subject"), entry["count"].as_u64())
        })
        .collect()
}

fn noted(by: &str, action: &str, subject: &str) -> (String, String, String, Option<u64>) {
    (by.into(), action.into(), subject.into(), None)
}

#[test]
fn every_change_of_an_operator_is_noted_with_a_name_and_without_a_reason() {
    let operator = with_dead_letters();
    assert_eq!(operator.run(&["audit"]).succeeded(), "there are no entries yet\n");
    operator.run(&["pause", "orders", "--by", "ann", "--why", "the hidden reason"]).succeeded();
    operator.run(&["pause", "orders", "--by", "ben"]).succeeded();
    operator.run(&["resume", "orders", "--by", "ben"]).succeeded();
    operator.run(&["resume", "orders", "--by", "ann"]).succeeded();
    operator.run(&["dead", "purge", "--all"]).succeeded();
    let why = "no provider is set for the channel sms; add one to the message handler's providers";
    operator.run(&["dead", "revive", "--reason", why, "--limit", "2", "--yes", "--by", "cid"]).succeeded();
    operator.run(&["dead", "purge", "--queue", "notification-messages", "--yes"]).succeeded();
    operator.run(&["cancel", &id(9), "--by", "dan"]).failed(1);
    let reason = "dead letters of all queues with one reason";
    let queue = "dead letters of queue notification-messages";
    let with = |entry: (String, String, String, Option<u64>), count| (entry.0, entry.1, entry.2, Some(count));
    let expected = [
        noted("ann", "pause", "queue orders"),
        noted("ben", "resume", "queue orders"),
        noted("cid", "revive", reason),
        with(noted("cid", "revived", reason), 2),
        noted("unnamed", "purge", queue),
        with(noted("unnamed", "purged", queue), 1),
        noted("dan", "cancel", &format!("request {}", id(9))),
    ];
    assert_eq!(
        entries(&operator),
        expected,
        "a preview is no change, and neither is a pause of what is paused"
    );
    let table = operator.run(&["audit"]).succeeded();
    assert!(table.starts_with("  AGO  ACTOR") || table.starts_with("AGO"), "{table}");
    assert!(table.lines().nth(1).unwrap().contains("dan      cancel"), "{table}");
    assert!(!table.contains("hidden reason") && !table.contains("no provider"), "{table}");
}

#[test]
fn a_resharding_is_noted_with_its_numbers_before_it_begins_and_when_all_shards_are_open() {
    let operator = Operator::with_database();
    operator.run(&["schema", "reshard", "64"]).succeeded();
    operator.run(&["schema", "reshard", "64", "--json"]).succeeded();
    operator.run(&["schema", "reshard", "60", "--yes", "--by", "ann"]).failed(1);
    operator.run(&["schema", "reshard", "--end", "--yes", "--by", "ann"]).succeeded();
    assert_eq!(entries(&operator), [], "a preview and what is refused are no change");
    operator.run(&["schema", "reshard", "64", "--yes", "--by", "ann"]).succeeded();
    operator.run(&["schema", "reshard", "--end"]).succeeded();
    operator.run(&["schema", "reshard", "--end", "--yes", "--json"]).succeeded();
    let (subject, mut done) = ("all queues, from 16 to 64 shards", noted("ann", "resharded", ""));
    (done.2, done.3) = (subject.into(), Some(0));
    let expected = [noted("ann", "reshard", subject), done, noted("unnamed", "end reshard", subject)];
    assert_eq!(entries(&operator), expected);
}

#[test]
fn entries_are_listed_page_by_page_newest_first() {
    let operator = Operator::with_database();
    for queue in ["a", "b", "c"] {
        operator.run(&["pause", queue, "--by", "ann"]).succeeded();
    }
    let first = operator.run(&["audit", "--limit", "2"]);
    assert!(first.err.contains("there may be more; use --after 2"), "{first:?}");
    assert!(first.out.contains("queue c") && first.out.contains("queue b"), "{first:?}");
    let rest = operator.run(&["audit", "--limit", "2", "--after", "2"]);
    assert!(rest.out.contains("queue a") && !rest.out.contains("queue b") && rest.err.is_empty(), "{rest:?}");
    assert!(operator.run(&["audit", "--after", "x"]).failed(2).contains("not the place of an entry"));
}

#[tokio::test]
async fn nothing_is_changed_that_cannot_be_noted() {
    use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
    use sea_orm::ConnectionTrait;

    let operator = with_dead_letters();
    operator.run_with(&["notify", "-"], request(7, "\"email\"").as_bytes()).succeeded();
    operator.run(&["pause", "mails", "--by", "ann"]).succeeded();
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    outbox.connection().execute_unprepared("DROP TABLE claimstream_audit").await.unwrap();
    outbox.connection().clone().close().await.unwrap();
    for change in [
        &["pause", "orders", "--by", "ann"][..],
        &["resume", "mails", "--by", "ann"],
        &["dead", "purge", "--all", "--yes"],
        &["dead", "revive", "--all", "--yes"],
        &["cancel", &id(7)],
        &["schema", "reshard", "64", "--yes"],
    ] {
        let why = operator.run(change).failed(1);
        assert!(why.contains("nothing was done, because the audit log cannot be written"), "{why}");
    }
    let status = operator.run(&["status"]).succeeded();
    assert!(!status.contains("orders: PAUSED") && status.contains("mails: PAUSED"), "{status}");
    assert!(operator.run(&["schema", "reshard"]).succeeded().contains("queues are cut into 16 shards"));
    let dead: Value = serde_json::from_str(&operator.run(&["dead", "list", "--json"]).succeeded()).unwrap();
    assert_eq!(dead["items"].as_array().unwrap().len(), 3);
    assert!(operator.run(&["show", &id(7)]).succeeded().contains("PENDING"));
}
