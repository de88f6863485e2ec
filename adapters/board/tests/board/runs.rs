//! Promise: the board shows idle sagas without their input and runs no script; a user with the right to
//! change continues a saga after a preview

use std::{sync::Arc, time::Duration};

use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{
    ByteBudget, ClaimId, ClaimRequest, Disposition, InstanceId, Lease, MessageId, NewMessage, Owner,
    QueueName, Reason, Settlement,
    saga::{NewSaga, SagaId, SagaOrder, SagaOrderKind},
    step::{NewStep, StepKey, StepResult},
    timer_event::Tick,
};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    LockingStrategy, Observe, Settlements, Transactions, saga::NoteSagas, step::StepLedger,
};
use form_urlencoded::byte_serialize;
use uuid::Uuid;

use crate::browser::{Browser, TwoTokens, stores, timer};

const SCOPE: &str = "saga:<script>alert('saga')</script>";

const MINUTE: Duration = Duration::from_secs(60);

/// A store whose sagas stand still.
struct Ledger {
    store: MemoryStore,
}

impl Ledger {
    fn new() -> Self {
        Self { store: MemoryStore::with_manual_clock() }
    }

    async fn begin(&self, scope: &str, run: &str, rows: &[(&str, u8)]) {
        let tx = self.store.begin_tx().await.unwrap();
        for (step, state) in rows {
            let key = StepKey::new(scope, run, step).unwrap();
            let result = StepResult::new(*b"<b>balance too small</b>").unwrap();
            StepLedger::begin(&self.store, &tx, &NewStep::new(key, *state).with_result(result))
                .await
                .unwrap();
        }
        self.store.commit_tx(tx).await.unwrap();
        self.store.advance(MINUTE);
    }

    /// An open saga with a check message that is due in an hour.
    async fn saga(&self, number: u128, rows: &[(&str, u8)]) -> Uuid {
        let (id, scope) = (Uuid::from_u128(number), QueueName::new(SCOPE).unwrap());
        let (owner, input) = ("<i>anna</i>".to_owned(), serde_json::json!({"secret": 7}));
        let saga = NewSaga {
            scope: SCOPE.into(),
            id: SagaId::new(id),
            owner: (*owner).into(),
            input: input.to_string().into(),
        };
        let tx = self.store.begin_tx().await.unwrap();
        self.store.note(&tx, &saga).await.unwrap();
        self.store.commit_tx(tx).await.unwrap();
        let order = SagaOrder { order: SagaOrderKind::Check, saga: saga.id, owner, input };
        self.enqueue(order.message(scope).unwrap().deliver_after(60 * MINUTE)).await;
        self.begin(SCOPE, &id.to_string(), rows).await;
        id
    }

    async fn enqueue(&self, message: NewMessage) {
        self.store.enqueue_now(&[message]).await.unwrap();
    }

    /// Makes a dead letter of the one message that is due in the saga's queue.
    async fn bury(&self) -> MessageId {
        let instance = InstanceId(7);
        let request = ClaimRequest {
            queue: QueueName::new(SCOPE).unwrap(),
            limit: 1,
            budget: ByteBudget::new(1 << 20).unwrap(),
            lease: Lease::new(MINUTE).unwrap(),
            claim: ClaimId::new(instance, 1),
            owner: Owner::of_process(instance, 1),
            runs: None,
        };
        let claimed = self.store.claim(&request).await.unwrap().remove(0);
        let disposition = Disposition::dead(Reason::new("<b>broken</b>"));
        self.store.settle(&[Settlement { receipt: claimed.receipt, disposition }]).await.unwrap();
        claimed.message.id
    }

    /// How many messages are due.
    async fn due(&self) -> u64 {
        self.store.observe().await.unwrap().iter().map(|status| status.due).sum()
    }

    fn browser(&self) -> Browser {
        Browser::on(&self.store)
    }
}

fn form(id: Uuid) -> String {
    let scope: String = byte_serialize(SCOPE.as_bytes()).collect();
    format!("scope={scope}&id={id}")
}

/// The addresses of the runs that a list links to.
fn rows(text: &str) -> usize {
    text.matches("<th scope=\"row\">").count()
}

#[tokio::test(start_paused = true)]
async fn sagas_that_have_stood_still_for_long_are_listed_and_nothing_of_them_is_a_script() {
    let ledger = Ledger::new();
    let browser = ledger.browser();
    let empty = browser.get("/sagas").await;
    assert!(empty.status == StatusCode::OK && empty.shows("There are none."), "{}", empty.text);
    let old = ledger.saga(1, &[("", 2), ("debit", 1)]).await;
    ledger.store.advance(10 * MINUTE);
    let new = ledger.saga(2, &[("", 3)]).await;
    let over = ledger.saga(3, &[("", 4)]).await;
    let all = browser.get("/sagas").await;
    let at = |id: Uuid| all.text.find(&id.to_string());
    assert!(at(old).unwrap() < at(new).unwrap() && at(over).is_none(), "{}", all.text);
    assert!(all.shows("committing") && all.shows("to_rollback"), "{}", all.text);
    assert!(!all.shows("<script>alert") && all.shows("&#60;script&#62;alert"), "{}", all.text);
    let stuck = browser.get("/sagas?stuck=10m").await;
    assert!(stuck.shows(&old.to_string()) && !stuck.shows(&new.to_string()), "{}", stuck.text);
    assert_eq!(rows(&browser.get("/sagas?all=yes").await.text), 3);
    assert_eq!(rows(&browser.get("/sagas?all=yes&name=other").await.text), 0);
    for refused in ["/sagas?stuck=soon", "/sagas?after=7", "/timers?after=7"] {
        assert_eq!(browser.get(refused).await.status, StatusCode::BAD_REQUEST, "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_names_every_saga_once_page_by_page() {
    let ledger = Ledger::new();
    for number in 0..70 {
        ledger.begin(SCOPE, &Uuid::from_u128(number).to_string(), &[("", 1)]).await;
    }
    let (browser, mut path, mut found) = (ledger.browser(), "/sagas".to_owned(), 0);
    loop {
        let page = browser.get(&path).await;
        found += rows(&page.text);
        let Some(next) = page.text.split("rel=\"next\" href=\"").nth(1) else { break };
        path = next.split('"').next().unwrap().replace("&#38;", "&");
    }
    assert_eq!(found, 70);
}

#[tokio::test(start_paused = true)]
async fn a_saga_shows_its_steps_and_messages_and_never_its_input() {
    let ledger = Ledger::new();
    let id = ledger.saga(1, &[("", 3), ("debit", 1), ("<svg onload=alert(1)>", 3)]).await;
    let page = ledger.browser().get(&format!("/sagas/one?{}", form(id))).await;
    assert!(page.shows("A step that works in another database is listed there alone."), "{}", page.text);
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    for shown in
        ["to_rollback", "calling", "&#60;svg onload", "&#60;i&#62;anna", "balance too small", "due in 59m"]
    {
        assert!(page.shows(shown), "{shown}: {}", page.text);
    }
    assert!(!page.shows("secret") && !page.shows("<svg") && !page.shows("<script"), "{}", page.text);
    let unknown = ledger.browser().get(&format!("/sagas/one?{}", form(Uuid::from_u128(9)))).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(ledger.browser().get("/sagas/one?scope=a&id=7").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn continuing_a_saga_is_shown_first_and_enqueues_one_message_however_often_it_is_clicked() {
    let ledger = Ledger::new();
    let id = ledger.saga(1, &[("", 1)]).await;
    let browser = ledger.browser();
    let page = browser.get(&format!("/sagas/one?{}", form(id))).await;
    assert!(page.shows("Continue …</button>"), "{}", page.text);
    let preview = browser.post("/sagas/preview", &form(id)).await;
    assert!(preview.status == StatusCode::OK && preview.shows("Continue it</button>"), "{}", preview.text);
    assert_eq!(ledger.due().await, 0, "a preview changes nothing");
    let done = browser.post("/sagas/continue", &form(id)).await;
    assert!(done.status == StatusCode::OK && done.shows("is due now"), "{}", done.text);
    assert_eq!(ledger.due().await, 1);
    let again = browser.post("/sagas/continue", &form(id)).await;
    assert!(again.shows("Nothing was done: the message"), "{}", again.text);
    assert_eq!(ledger.due().await, 1);
    let unknown = browser.post("/sagas/continue", &form(Uuid::from_u128(9))).await;
    assert!(unknown.shows("there is no such saga"), "{}", unknown.text);
    assert_eq!(browser.get("/sagas/continue").await.status, StatusCode::METHOD_NOT_ALLOWED);
    let foreign = [("sec-fetch-site", "cross-site"), ("content-type", "application/x-www-form-urlencoded")];
    let foreign = browser.call("POST", "/sagas/continue", &foreign, &form(id)).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_may_only_look_continues_no_saga() {
    let ledger = Ledger::new();
    let id = ledger.saga(1, &[("", 1)]).await;
    let board = Board::for_users(stores(&ledger.store), timer(), Arc::new(TwoTokens));
    for (board, token) in [(board.clone(), "looks"), (board.read_only(), "changes")] {
        let browser = Browser::of(board.router()).sign_in(token).await;
        let page = browser.get(&format!("/sagas/one?{}", form(id))).await;
        assert_eq!(page.status, StatusCode::OK);
        for path in ["/sagas/preview", "/sagas/continue"] {
            assert_eq!(browser.post(path, &form(id)).await.status, StatusCode::FORBIDDEN, "{token} {path}");
        }
        assert!(token != "looks" || !page.shows("Continue …"), "{}", page.text);
    }
    assert_eq!(ledger.due().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_saga_whose_message_is_a_dead_letter_leads_to_it() {
    let ledger = Ledger::new();
    let id = ledger.saga(1, &[("", 1)]).await;
    ledger.store.advance(60 * MINUTE);
    let letter = ledger.bury().await;
    let browser = ledger.browser();
    let page = browser.get(&format!("/sagas/one?{}", form(id))).await;
    let link = format!("href=\"/dead/letters/{letter}\"");
    assert!(page.shows(&link) && page.shows("A message of it is a dead letter"), "{}", page.text);
    assert!(page.shows("&#60;b&#62;broken") && !page.shows("Continue …"), "{}", page.text);
    let refused = browser.post("/sagas/continue", &form(id)).await;
    assert!(refused.shows(&link) && refused.shows("Nothing was done"), "{}", refused.text);
}

#[tokio::test(start_paused = true)]
async fn transactions_and_their_branches_are_listed_and_shown() {
    let ledger = Ledger::new();
    ledger.begin("tcc-global", "order<8>", &[("", 1)]).await;
    ledger.begin("tcc", "order<8>", &[("stock", 0), ("coupon", 1)]).await;
    ledger.begin("tcc", "order-9", &[("stock", 0)]).await;
    let browser = ledger.browser();
    let list = browser.get("/tcc").await;
    assert!(
        rows(&list.text) == 1 && list.shows("order&#60;8&#62;") && list.shows("confirming"),
        "{}",
        list.text
    );
    assert!(list.shows("href=\"/tcc/branches\""), "{}", list.text);
    assert_eq!(rows(&browser.get("/tcc/branches").await.text), 2);
    let one = browser.get("/tcc/one?id=order%3C8%3E").await;
    assert!(one.shows("coupon") && one.shows("tried") && one.shows("confirmed"), "{}", one.text);
    assert!(browser.get("/tcc/one?id=order-9").await.shows("in another database"));
    assert_eq!(browser.get("/tcc/one?id=x").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn timers_are_listed_with_their_next_occurrence_and_events_are_shown() {
    let ledger = Ledger::new();
    let tick =
        |scheme: &str, at: &str| Tick { scheme: scheme.parse().unwrap(), occurrence: at.parse().unwrap() };
    let queue = QueueName::new("timers<i>").unwrap();
    let (late, next) = (tick("bill", "1990-01-01T00:00:00Z"), tick("report", "2999-01-01T00:00:00Z"));
    for tick in [&late, &next] {
        ledger.enqueue(tick.message(&queue).unwrap()).await;
    }
    ledger.begin("timer:bill", &late.unique_code(), &[("", 0), ("decision:close-month", 1)]).await;
    ledger.begin("timer:<b>", "whenever", &[("", 0)]).await;
    let browser = ledger.browser();
    let timers = browser.get("/timers").await;
    for shown in ["bill", "2999-01-01T00:00:00Z", "timers&#60;i&#62;", "scheduled, due in", "due, for"] {
        assert!(timers.shows(shown), "{shown}: {}", timers.text);
    }
    let events = browser.get("/timers/events?stuck=1m").await;
    assert!(rows(&events.text) == 2 && events.shows("&#60;b&#62;"), "{}", events.text);
    let event = browser.get("/timers/event?scheme=bill&occurrence=1990-01-01T00%3A00%3A00Z").await;
    for shown in ["decision:close-month", "done", "tick", "init"] {
        assert!(event.shows(shown), "{shown}: {}", event.text);
    }
    let strange = browser.get("/timers/event?scheme=%3Cb%3E&occurrence=whenever").await;
    assert!(strange.status == StatusCode::OK && !strange.shows("<b>"), "{}", strange.text);
    let coming = browser.get("/timers/event?scheme=report&occurrence=2999-01-01T00%3A00%3A00Z").await;
    assert!(coming.shows("It has not begun."), "{}", coming.text);
    assert_eq!(browser.get("/timers/event?scheme=x&occurrence=y").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_board_on_two_ports_has_no_pages_of_sagas_and_no_links_to_them() {
    let store = Arc::new(MemoryStore::with_manual_clock());
    let board = Board::for_everyone(BoardStores::new(store.clone(), store), timer());
    let browser = Browser::of(board.router());
    let page = browser.get("/").await;
    assert!(!page.shows("/sagas") && !page.shows("/timers") && !page.shows("/tcc"), "{}", page.text);
    for path in ["/sagas", "/sagas/one?scope=a&id=00000000-0000-0000-0000-000000000001", "/tcc", "/timers"] {
        assert_eq!(browser.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let refused = browser.post("/sagas/continue", &form(Uuid::from_u128(1))).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
}
