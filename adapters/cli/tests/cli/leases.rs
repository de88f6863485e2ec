//! Promise: a lease or a lock is released after a warning and with `--yes`

use std::time::Duration;

use claimstream_domain::{
    ByteBudget, ClaimId, ClaimRequest, Claimed, Disposition, InstanceId, Lease, MessageId, NewMessage, Owner,
    Payload, QueueName, Settled, Settlement,
};
use claimstream_ports::{DistributedLock, LockingStrategy, Settlements};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, Strategy, StrategyChoice};
use serde_json::Value;
use uuid::Uuid;

use crate::operator::Operator;

/// A relay that has claimed three messages of one shard and hangs.
async fn hanging(operator: &Operator) -> (SeaOrmOutbox, Vec<Claimed>) {
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let strategy = StrategyChoice::Exactly(Strategy::ShardLease);
    let outbox = SeaOrmOutbox::open(&file, OpenOptions { strategy, ..OpenOptions::default() }).await.unwrap();
    let queue = QueueName::new("orders").unwrap();
    let message = || {
        NewMessage::new(MessageId::new(Uuid::now_v7()), queue.clone(), Payload::json("1"))
            .ordered_by("one".parse().unwrap())
    };
    outbox.enqueue_now(&[message(), message(), message()]).await.unwrap();
    let me = InstanceId(5);
    let request = ClaimRequest {
        queue: queue.clone(),
        limit: 9,
        budget: ByteBudget::default(),
        lease: Lease::new(Duration::from_secs(600)).unwrap(),
        claim: ClaimId::new(me, 1),
        owner: Owner::new(me, "night\u{1b}[2J").unwrap(),
        runs: None,
    };
    let claimed = outbox.claim(&request).await.unwrap();
    assert_eq!(claimed.len(), 3);
    (outbox, claimed)
}

fn json(operator: &Operator, arguments: &[&str]) -> Value {
    serde_json::from_str(&operator.run(&[arguments, &["--json"]].concat()).out).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_of_a_relay_that_hangs_is_released_after_a_warning() {
    let operator = Operator::with_database();
    let (outbox, claimed) = hanging(&operator).await;
    let lease = json(&operator, &["leases", "--queue", "orders"])["items"][0].clone();
    let (place, fence) = (format!("orders/{}", lease["shard"]), lease["fence"].to_string());
    assert_eq!(lease["in_flight"], 3);
    let release = |fence: &str, more: &[&str]| {
        operator.run(&[&["leases", "release", &place, "--fence", fence, "--by", "ann"], more].concat())
    };
    let warned = release(&fence, &[]).succeeded();
    for said in
        ["in flight: 3, the oldest due for", "a handler may run twice", "nothing was released, give --yes"]
    {
        assert!(warned.contains(said), "{said}: {warned}");
    }
    assert!(warned.contains("held by night") && !warned.contains('\u{1b}'), "{warned}");
    let other = release("99", &["--yes"]);
    assert!(other.code == Some(1) && other.out.contains(&format!("has fence {fence} now")), "{other:?}");
    assert_eq!(json(&operator, &["leases"])["items"][0]["holder"], lease["holder"], "nothing was released");
    let done = release(&fence, &["--yes"]);
    assert_eq!(
        (done.code, done.out.lines().last()),
        (Some(0), Some(&*format!("{place} is released; 3 messages are due again"))),
        "{done:?}"
    );
    assert!(
        done.err.contains("an operator has released the lease of a shard") && done.err.contains("ann"),
        "{done:?}"
    );
    let again = release(&fence, &["--yes"]);
    assert!(again.code == Some(1) && again.out.contains(&format!("{place} is not held")), "{again:?}");
    let done =
        Settlement { receipt: claimed[0].receipt.clone(), disposition: Disposition::Done { emit: vec![] } };
    assert_eq!(outbox.settle(&[done]).await.unwrap(), [Settled::Superseded], "the relay comes to itself");
    assert_eq!(json(&operator, &["messages", &claimed[0].message.id.to_string()])["items"][0]["attempt"], 1);
    let never = operator.run(&["leases", "release", "mails/3", "--fence", "1", "--by", "ann"]);
    assert!(never.code == Some(1) && never.out.contains("mails/3 was never leased"), "{never:?}");
}

#[test]
fn a_release_names_a_shard_a_fence_and_an_operator() {
    let operator = Operator::with_database();
    for (arguments, why) in [
        (&["leases", "release", "orders", "--fence", "1"][..], "such as orders/3"),
        (&["leases", "release", "orders/3"], "--fence"),
        (&["leases", "release", "orders/3", "--fence", "1"], "give it with --by"),
        (&["locks", "release", "jobs"], "--fence"),
        (&["locks", "release", "jobs", "--fence", "1"], "give it with --by"),
        (&["locks", "release", "jobs", "--fence", "1", "--by", "a\nb"], "write it on one line"),
    ] {
        let refused = operator.run(arguments).failed(2);
        assert!(refused.contains(why), "{arguments:?}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_are_listed_page_by_page_and_released_by_their_fences() {
    let operator = Operator::with_database();
    assert_eq!(operator.run(&["locks"]).succeeded(), "there are no locks\n");
    let file = format!("sqlite://{}", operator.path("claimstream.db").display());
    let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
    for key in ["jobs/a", "jobs/b", "jobs/c"] {
        outbox.try_acquire(key, Lease::new(Duration::from_secs(600)).unwrap()).await.unwrap().unwrap();
    }
    let first = json(&operator, &["locks", "--limit", "2"]);
    assert_eq!((&first["items"][1]["key"], &first["next"]), (&"jobs/b".into(), &"jobs/b".into()));
    let rest = json(&operator, &["locks", "--after", "jobs/b"]);
    assert_eq!((&rest["items"][0]["key"], &rest["next"]), (&"jobs/c".into(), &Value::Null));
    let fence = first["items"][0]["fence"].to_string();
    let release = |fence: &str, more: &[&str]| {
        operator.run(&[&["locks", "release", "jobs/a", "--fence", fence, "--by", "ann"], more].concat())
    };
    let asked = release(&fence, &[]).succeeded();
    assert!(asked.contains("two are at work") && asked.contains("give --yes"), "{asked}");
    let never = operator.run(&["locks", "release", "nosuch", "--fence", "1", "--by", "ann"]);
    assert_eq!(
        (never.code, &*never.out),
        (Some(1), "there is no lock nosuch; nothing was released\n"),
        "{never:?}"
    );
    for more in [&["--yes"][..], &[]] {
        let other = release("1", more);
        let says =
            format!("jobs/a is not held under fence 1; its fence is {fence} now; nothing was released\n");
        assert_eq!((other.code, &*other.out), (Some(1), &*says), "{other:?}");
    }
    assert!(json(&operator, &["locks"])["items"][0]["ends_at"].is_string());
    let done = release(&fence, &["--yes"]);
    assert!(done.code == Some(0) && done.out.ends_with("jobs/a is released\n"), "{done:?}");
    assert_eq!(json(&operator, &["locks"])["items"][0]["ends_at"], Value::Null);
    let over = release(&fence, &[]);
    assert_eq!((over.code, &*over.out), (Some(1), "jobs/a is not held; nothing was released\n"), "{over:?}");
    assert!(outbox.try_acquire("jobs/a", Lease::default()).await.unwrap().is_some());
    assert_eq!(release(&fence, &["--yes"]).code, Some(1), "another one holds it");
}
