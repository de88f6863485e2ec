//! Promise: `doctor --after-failover` names what it leaves, and then its exit code is 1

use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::ConnectionTrait;

use crate::operator::{Operator, id, request};

const ASKED: [&str; 4] = ["doctor", "--after-failover", "--quiet-for", "0s"];

#[tokio::test]
async fn shows_what_a_failover_has_left_repairs_it_once_it_is_asked_to_and_notes_who_did() {
    let operator = Operator::with_database();
    let none = operator.run(&["doctor", "--after-failover"]).succeeded();
    assert_eq!(none, "nothing is left without a worker\n");
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    outbox.connection().execute_unprepared("DELETE FROM claimstream_queue").await.unwrap();

    let shown = operator.run(&ASKED);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.out.contains("1 request has lost the message"), "{shown:?}");
    assert!(shown.out.ends_with("nothing was changed, give --yes to repair that\n"), "{shown:?}");
    let json = operator.run(&[&ASKED[..], &["--json"]].concat());
    assert_eq!(json.code, Some(1));
    assert!(json.out.contains("\"done\":false") && json.out.contains("\"queued\":0"), "{json:?}");

    let done = operator.run(&[&ASKED[..], &["--yes", "--by", "ann"]].concat()).succeeded();
    assert!(done.ends_with("1 message was queued again\n"), "{done}");
    assert!(operator.run(&ASKED).succeeded().starts_with("nothing is left"));
    let audit = operator.run(&["audit"]).succeeded();
    assert!(audit.contains("ann") && audit.contains("repair ") && audit.contains("repaired"), "{audit}");
    let left: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let request = left["requests"][0].as_str().unwrap();
    assert!(audit.contains(&format!("request {request}")), "{audit}");
}

#[tokio::test]
async fn ends_with_one_and_names_a_request_that_stays_because_it_cannot_be_read() {
    let operator = Operator::with_database();
    let both: String = (1..=2).map(|number| request(number, "\"email\"") + "\n").collect();
    operator.run_with(&["notify", "-"], both.as_bytes()).succeeded();
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    let unreadable = id(2);
    for sql in [
        "DELETE FROM claimstream_queue".to_owned(),
        format!(
            "UPDATE claimstream_notification_request SET request = '{{}}' WHERE id = X'{}'",
            unreadable.replace('-', "")
        ),
    ] {
        outbox.connection().execute_unprepared(&sql).await.unwrap();
    }

    let done = operator.run(&[&ASKED[..], &["--yes"]].concat());
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.out.contains("1 message was queued again\n1 request was not fanned out again"), "{done:?}");
    assert!(done.out.ends_with(&format!("  {unreadable}\n")), "{done:?}");
    let json = operator.run(&[&ASKED[..], &["--yes", "--json"]].concat());
    let said: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &said["unreadable"][0]), (Some(1), &unreadable.as_str().into()), "{json:?}");
    assert_eq!((&said["queued"], &said["done"]), (&0.into(), &true.into()), "{json:?}");

    outbox
        .connection()
        .execute_unprepared("UPDATE claimstream_notification_request SET status = 'CANCELLED'")
        .await
        .unwrap();
    assert!(operator.run(&ASKED).succeeded().starts_with("nothing is left"));
}

#[tokio::test]
async fn names_a_notification_that_cannot_be_delivered_any_more() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let fans_out = ["relay", "--until-empty", "--set", "channels.email.provider=log"];
    operator.run(&fans_out).succeeded();
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    for sql in [
        "DELETE FROM claimstream_message",
        "DELETE FROM claimstream_notification_attempt",
        "UPDATE claimstream_notification_message SET status = 'PENDING'",
        "UPDATE claimstream_notification_request SET status = 'FAILED'",
    ] {
        outbox.connection().execute_unprepared(sql).await.unwrap();
    }
    let json: serde_json::Value =
        serde_json::from_str(&operator.run(&[&ASKED[..], &["--json"]].concat()).out).unwrap();
    let lost = json["beyond_repair"][0].as_str().unwrap();
    let shown = operator.run(&[&ASKED[..], &["--yes"]].concat());
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.out.contains("1 notification is pending for ever"), "{shown:?}");
    assert!(shown.out.ends_with(&format!("  {lost}\n")), "{shown:?}");
}

#[test]
fn takes_its_flags_only_together() {
    let operator = Operator::with_database();
    assert_eq!(operator.run(&["doctor", "--yes"]).code, Some(2));
    assert_eq!(operator.run(&["doctor", "--after-failover", "--strict"]).code, Some(2));
}
