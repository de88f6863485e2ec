//! Promise: a pause of an unknown queue works, and names the queue that may be meant; `status`, `doctor` and
//! the metrics show a pause with its operator and reason

use serde_json::Value;

use crate::operator::{Operator, id, request};

const REQUESTS: &str = "notification-requests";

#[test]
fn a_paused_queue_is_left_alone_by_relays_until_it_is_resumed() {
    let operator = Operator::with_database();
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let said = operator.run(&["pause", REQUESTS, "--by", "ann", "--why", "the gateway is moved"]).succeeded();
    assert!(said.starts_with("notification-requests is paused; relays stop"), "{said}");
    // A run of a script ends, although something is due.
    operator.deliver(&[]).succeeded();
    let status = operator.run(&["status"]).succeeded();
    let remark = status.lines().last().unwrap();
    assert!(remark.starts_with("notification-requests: PAUSED for "), "{status}");
    assert!(remark.ends_with(" by ann: the gateway is moved"), "{status}");
    let queue = json(&operator, &["status"])["queues"][0].clone();
    assert_eq!((&queue["due"], &queue["seems_unread"]), (&1.into(), &false.into()));
    assert_eq!(
        (&queue["paused_by"], &queue["pause_reason"]),
        (&"ann".into(), &"the gateway is moved".into())
    );
    assert!(queue["paused_at"].as_str().unwrap().ends_with('Z'), "{queue}");
    let doctor = operator.run(&["doctor"]).succeeded();
    assert!(doctor.contains("ok    paused"), "{doctor}");
    let warned =
        doctor.lines().find(|line| line.contains("queue notification-requests has been paused for "));
    assert!(warned.is_some_and(|line| line.contains(" by ann")), "{doctor}");

    let again = operator.run(&["pause", REQUESTS, "--by", "ben"]).succeeded();
    assert!(again.contains("PAUSED for") && again.contains("by ann"), "{again}");
    assert_eq!(
        operator.run(&["resume", REQUESTS, "--by", "ben"]).succeeded(),
        "notification-requests is resumed\n"
    );
    assert_eq!(
        operator.run(&["resume", REQUESTS, "--by", "ben"]).succeeded(),
        "notification-requests was not paused\n"
    );
    operator.deliver(&[]).succeeded();
    assert_eq!(json(&operator, &["show", &id(1)])["pending"], 0);
    assert!(!operator.run(&["status"]).succeeded().contains("PAUSED"));
}

#[test]
fn a_queue_without_messages_is_paused_under_the_name_of_the_account() {
    let operator = Operator::with_database();
    assert!(operator.run(&["pause", "orders"]).failed(2).contains("give it with --by"));
    assert!(operator.run(&["resume", "orders"]).failed(2).contains("give it with --by"));
    assert!(operator.run(&["pause", "orders", "--by", "a\nb"]).failed(2).contains("write it on one line"));
    let operator = operator.set("LOGNAME", "ann");
    operator.run(&["pause", "orders"]).succeeded();
    let queue = json(&operator, &["status"])["queues"][0].clone();
    assert_eq!((&queue["queue"], &queue["depth"]), (&"orders".into(), &0.into()));
    assert_eq!((&queue["paused_by"], &queue["pause_reason"]), (&"ann".into(), &Value::Null));
}

#[test]
fn a_queue_of_which_nothing_is_known_is_named_with_the_one_that_may_be_meant() {
    let operator = Operator::with_database().set("CLAIMSTREAM_LOG__LEVEL", "error");
    operator.run_with(&["notify", "-"], request(1, "\"email\"").as_bytes()).succeeded();
    let said = |arguments: &[&str]| {
        let ended = operator.run(arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.err
    };
    let unknown = |queue: &str, hint: &str| {
        format!(
            "nothing is known of the queue {queue} in sqlite://claimstream.db: it has no message, no dead letter and no lease; is its name right?{hint}\n"
        )
    };
    let meant = format!(" did you mean {REQUESTS}?");
    assert_eq!(said(&["pause", "orders", "--by", "ann"]), unknown("orders", ""));
    assert_eq!(said(&["pause", "orders", "--by", "ben"]), "", "it was said before");
    let wrong = "notification-reqests";
    assert_eq!(said(&["pause", wrong, "--by", "ann", "--json"]), unknown(wrong, &meant));
    assert_eq!(said(&["resume", "oders", "--by", "ann"]), unknown("oders", " did you mean orders?"));
    assert_eq!(said(&["resume", wrong, "--by", "ann"]), "", "it was paused");
    for change in ["revive", "purge"] {
        assert_eq!(said(&["dead", change, "--queue", wrong]), unknown(wrong, &meant));
        assert_eq!(said(&["dead", change, "--queue", wrong, "--yes", "--json"]), unknown(wrong, &meant));
        assert_eq!(said(&["dead", change, "--queue", REQUESTS, "--yes"]), "");
        assert_eq!(said(&["dead", change, "--all"]), "");
    }
    for known in [REQUESTS, "notification-messages-low", "shop"] {
        let named = ["--set", "publish.bus.queue=shop", "--set", "publish.bus.to=redis://127.0.0.1/0"];
        let set = if known == "shop" { &named[..] } else { &[] };
        assert_eq!(said(&[&["pause", known, "--by", "ann"], set].concat()), "", "{known}");
    }
}

#[tokio::test]
async fn the_doctor_warns_of_a_pause_that_looks_forgotten() {
    use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
    use sea_orm::ConnectionTrait;

    let operator = Operator::with_database();
    operator.run(&["pause", "orders", "--by", "ann"]).succeeded();
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    let hours_ago = "UPDATE claimstream_pause SET paused_at = paused_at - 7200000000";
    outbox.connection().execute_unprepared(hours_ago).await.unwrap();
    outbox.connection().clone().close().await.unwrap();
    let doctor = operator.run(&["doctor", "--strict"]);
    assert!(doctor.code == Some(1) && doctor.out.contains("claimstream resume orders"), "{doctor:?}");
}

fn json(operator: &Operator, arguments: &[&str]) -> Value {
    serde_json::from_str(&operator.run(&[arguments, &["--json"]].concat()).succeeded()).unwrap()
}
