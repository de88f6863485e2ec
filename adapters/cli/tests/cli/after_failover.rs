use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::ConnectionTrait;

use crate::operator::{Operator, request};

const ASKED: [&str; 4] = ["doctor", "--after-failover", "--quiet-for", "0s"];

#[tokio::test]
async fn shows_what_a_failover_has_left_repairs_it_once_it_is_asked_to_and_notes_who_did() {
    let operator = Operator::with_database();
    let none = operator.run(&["doctor", "--after-failover"]).succeeded();
    assert_eq!(none, "nothing is left that nobody works on\n");
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

#[test]
fn takes_its_flags_only_together() {
    let operator = Operator::with_database();
    assert_eq!(operator.run(&["doctor", "--yes"]).code, Some(2));
    assert_eq!(operator.run(&["doctor", "--after-failover", "--strict"]).code, Some(2));
}
