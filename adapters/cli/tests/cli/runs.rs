use std::time::Duration;

use claimstream_domain::{
    NewMessage, QueueName,
    saga::{NewSaga, SagaId, SagaOrder, SagaOrderKind},
    step::{NewStep, StepKey, StepResult},
    timer_event::Tick,
};
use claimstream_ports::{Enqueue, Transactions, saga::NoteSagas, step::StepLedger};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use sea_orm::ConnectionTrait;
use serde_json::Value;
use uuid::Uuid;

use crate::operator::Operator;

/// A database in which sagas, TCC transactions and timers stand still.
pub(crate) struct Ledger {
    pub(crate) operator: Operator,
    outbox: SeaOrmOutbox,
}

impl Ledger {
    pub(crate) async fn open() -> Self {
        let operator = Operator::with_database();
        let file = format!("sqlite://{}", operator.path("claimstream.db").display());
        let outbox = SeaOrmOutbox::open(&file, OpenOptions::default()).await.unwrap();
        Self { operator, outbox }
    }

    /// Writes rows, each with its state.
    pub(crate) async fn begin(&self, scope: &str, run: &str, rows: &[(&str, u8)]) {
        let tx = self.outbox.begin_tx().await.unwrap();
        for (step, state) in rows {
            let key = StepKey::new(scope, run, step).unwrap();
            let result = StepResult::new(*b"balance too small").unwrap();
            StepLedger::begin(&self.outbox, &tx, &NewStep::new(key, *state).with_result(result))
                .await
                .unwrap();
        }
        self.outbox.commit_tx(tx).await.unwrap();
    }

    /// Notes a saga that has rows, with a check message that is due in an hour.
    pub(crate) async fn note(&self, scope: &str, id: Uuid) {
        let (scope, id) = (QueueName::new(scope).unwrap(), SagaId::new(id));
        let (owner, input) = ("anna\u{1b}[31m".to_owned(), serde_json::json!({"secret": 7}));
        let saga = NewSaga {
            scope: scope.as_str().into(),
            id,
            owner: (*owner).into(),
            input: input.to_string().into(),
        };
        let order = SagaOrder { order: SagaOrderKind::Check, saga: id, owner, input };
        let check = order.message(scope).unwrap().deliver_after(Duration::from_secs(3_600));
        let tx = self.outbox.begin_tx().await.unwrap();
        self.outbox.note(&tx, &saga).await.unwrap();
        self.outbox.enqueue(&tx, &[check]).await.unwrap();
        self.outbox.commit_tx(tx).await.unwrap();
    }

    pub(crate) async fn enqueue(&self, message: NewMessage) {
        let tx = self.outbox.begin_tx().await.unwrap();
        self.outbox.enqueue(&tx, &[message]).await.unwrap();
        self.outbox.commit_tx(tx).await.unwrap();
    }

    /// Moves all rows of the ledger into the past.
    pub(crate) async fn age(&self, seconds: u32) {
        let past = format!(
            "UPDATE claimstream_step SET created_at = created_at - {seconds}000000, changed_at = changed_at - {seconds}000000"
        );
        self.outbox.connection().execute_unprepared(&past).await.unwrap();
    }

    /// Makes a dead letter of a message.
    async fn bury(&self, id: &str) {
        let id = id.replace('-', "");
        for sql in [
            format!(
                "INSERT INTO claimstream_dead (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at) \
                 SELECT id, queue, shard, ordering_key, headers, content_type, payload, created_at, 3, 'the saga is broken', created_at \
                 FROM claimstream_message WHERE id = x'{id}'"
            ),
            format!("DELETE FROM claimstream_queue WHERE id = x'{id}'"),
            format!("DELETE FROM claimstream_message WHERE id = x'{id}'"),
        ] {
            self.outbox.connection().execute_unprepared(&sql).await.unwrap();
        }
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.operator.run(&[arguments, &["--json"]].concat()).out).unwrap()
    }
}

fn ids(page: &Value, field: &str) -> Vec<String> {
    page["items"].as_array().unwrap().iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn sagas_are_listed_by_how_long_they_have_stood_still_and_shown_without_their_input() {
    let ledger = Ledger::open().await;
    let operator = &ledger.operator;
    assert_eq!(operator.run(&["sagas"]).succeeded(), "there are no such sagas\n");
    let id = |number: u128| Uuid::from_u128(number).to_string();
    ledger.begin("saga:transfer", &id(1), &[("", 2), ("debit", 1), ("credit\u{1b}[2J", 3)]).await;
    ledger.note("saga:transfer", Uuid::from_u128(1)).await;
    ledger.age(1_200).await;
    ledger.begin("saga:transfer", &id(2), &[("", 3)]).await;
    ledger.begin("saga:order", &id(3), &[("", 4)]).await;
    ledger.age(60).await;

    assert_eq!(ids(&ledger.json(&["sagas"]), "id"), [id(1), id(2)]);
    assert_eq!(ids(&ledger.json(&["sagas", "--stuck-for", "10m"]), "id"), [id(1)]);
    assert_eq!(ids(&ledger.json(&["sagas", "--all"]), "id"), [id(1), id(2), id(3)]);
    assert_eq!(ids(&ledger.json(&["sagas", "--all", "--name", "order"]), "id"), [id(3)]);
    let first = ledger.json(&["sagas", "--limit", "1"]);
    let place = first["next"].as_str().unwrap();
    assert_eq!(ids(&ledger.json(&["sagas", "--after", place]), "id"), [id(2)]);
    let item = &first["items"][0];
    assert_eq!((&item["state"], &item["open"]), (&"committing".into(), &true.into()));
    assert!(item["quiet_seconds"].as_f64().unwrap() >= 1_260.0, "{item}");
    let table = operator.run(&["sagas", "--limit", "1"]);
    assert!(table.out.contains("saga:transfer") && table.out.contains("21m"), "{table:?}");
    assert!(table.err.contains(&format!("there may be more; use --after {place}")), "{table:?}");
    assert!(operator.run(&["sagas", "--after", "7"]).failed(2).contains("take it from the page before"));

    let shown = operator.run(&["sagas", "show", "transfer", &id(1)]).succeeded();
    assert!(shown.contains("called off    balance too small") && shown.contains("calling"), "{shown}");
    assert!(shown.contains("check") && shown.contains("scheduled, in 59m"), "{shown}");
    assert!(!shown.contains("secret") && !shown.contains('\u{1b}'), "{shown}");
    assert!(shown.ends_with("\n\nA step that works in another database is listed there alone.\n"), "{shown}");
    let shown = ledger.json(&["sagas", "show", "saga:transfer", &id(1)]);
    assert_eq!(shown["steps"].as_array().unwrap().len(), 2, "{shown}");
    assert!(!shown.to_string().contains("secret"), "{shown}");
    assert!(operator.run(&["sagas", "show", "transfer", &id(9)]).failed(1).contains("in the saga's home"));
}

#[tokio::test]
async fn a_saga_is_continued_once_and_a_dead_letter_is_named() {
    let ledger = Ledger::open().await;
    let (operator, id) = (&ledger.operator, Uuid::from_u128(1));
    let text = id.to_string();
    let proceed = ["sagas", "continue", "transfer", &text];
    assert!(operator.run(&proceed).code == Some(1));
    ledger.begin("saga:transfer", &text, &[("", 1)]).await;
    ledger.note("saga:transfer", id).await;
    let check =
        ledger.json(&["sagas", "show", "transfer", &text])["messages"][0]["id"].as_str().unwrap().to_owned();
    ledger.bury(&check).await;
    let refused = operator.run(&proceed);
    let revive = format!("claimstream dead revive --id {check} --yes continues it");
    assert!(refused.code == Some(1) && refused.out.contains(&revive), "{refused:?}");
    let shown = operator.run(&["sagas", "show", "transfer", &text]).succeeded();
    assert!(shown.contains(&revive), "{shown}");
    // The command that the line names does what it says.
    operator.run(&["dead", "revive", "--id", &check, "--yes"]).succeeded();
    let answer = ledger.json(&proceed);
    assert_eq!((&answer["answer"], &answer["message"]), (&"under_way".into(), &(*check).into()));

    let other = Uuid::from_u128(2).to_string();
    ledger.begin("saga:transfer", &other, &[("", 3)]).await;
    ledger.note("saga:transfer", Uuid::from_u128(2)).await;
    let asked = ledger.json(&["sagas", "continue", "transfer", &other]);
    assert_eq!(asked["answer"], "asked", "{asked}");
    let again = ledger.json(&["sagas", "continue", "transfer", &other]);
    assert_eq!((&again["answer"], &again["message"]), (&"under_way".into(), &asked["message"]));
    let status = operator.run(&["status"]).succeeded();
    assert!(status.contains("saga:transfer"), "{status}");
}

#[tokio::test]
async fn transactions_and_branches_are_listed_and_shown() {
    let ledger = Ledger::open().await;
    let operator = &ledger.operator;
    ledger.begin("tcc-global", "order-8", &[("", 1)]).await;
    ledger.begin("tcc", "order-8", &[("stock", 0), ("coupon", 1)]).await;
    ledger.begin("tcc", "order-9", &[("stock", 0)]).await;
    ledger.age(60).await;
    assert_eq!(ids(&ledger.json(&["tcc"]), "id"), ["order-8"]);
    assert_eq!(ids(&ledger.json(&["tcc", "--branches"]), "id"), ["order-8", "order-9"]);
    assert_eq!(ids(&ledger.json(&["tcc", "--branches", "--all"]), "branch"), ["stock", "coupon", "stock"]);
    assert_eq!(operator.run(&["tcc", "--stuck-for", "1h"]).succeeded(), "there are no such transactions\n");
    let shown = operator.run(&["tcc", "show", "order-8"]).succeeded();
    assert!(shown.contains("confirming") && shown.contains("coupon") && shown.contains("tried"), "{shown}");
    assert!(operator.run(&["tcc", "show", "order-9"]).succeeded().contains("in another database"));
    assert!(operator.run(&["tcc", "show", "order-1"]).failed(1).contains("no transaction order-1"));
}

#[tokio::test]
async fn timers_are_listed_with_their_next_occurrence_and_events_are_shown() {
    let ledger = Ledger::open().await;
    let operator = &ledger.operator;
    assert_eq!(operator.run(&["timers"]).succeeded(), "there are no timers\n");
    let tick =
        |scheme: &str, at: &str| Tick { scheme: scheme.parse().unwrap(), occurrence: at.parse().unwrap() };
    let queue = QueueName::new("timers").unwrap();
    let (late, next) = (tick("bill", "2020-01-01T00:00:00Z"), tick("report", "2999-01-01T00:00:00Z"));
    for tick in [&late, &next] {
        ledger.enqueue(tick.message(&queue).unwrap()).await;
    }
    ledger.begin("timer:bill", &late.unique_code(), &[("", 0), ("decision:close-month", 1)]).await;
    ledger.age(60).await;
    let listed = ledger.json(&["timers"]);
    assert_eq!(ids(&listed, "scheme"), ["bill", "report"]);
    assert_eq!(ids(&listed, "occurrence"), ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]);
    assert_eq!(ids(&listed, "state"), ["due", "scheduled"]);
    let place = ledger.json(&["timers", "--limit", "1"])["next"].as_str().unwrap().to_owned();
    assert_eq!(ids(&ledger.json(&["timers", "--after", &place]), "scheme"), ["report"]);
    assert_eq!(ids(&ledger.json(&["timers", "events"]), "scheme"), ["bill"]);
    assert_eq!(
        ids(&ledger.json(&["timers", "events", "--scheme", "report"]), "scheme"),
        Vec::<String>::new()
    );
    let shown = operator.run(&["timers", "show", "bill", "2020-01-01T00:00:00Z"]).succeeded();
    assert!(shown.contains("decision:close-month") && shown.contains("tick"), "{shown}");
    assert!(
        operator.run(&["timers", "show", "report", "2999-01-01T00:00:00Z"]).succeeded().contains("not begun")
    );
    assert!(
        operator.run(&["timers", "show", "x", "2999-01-01T00:00:00Z"]).failed(1).contains("no event of x")
    );
    ledger.bury(&late.message_id().to_string()).await;
    assert!(operator.run(&["timers"]).succeeded().contains("dead"));
}
