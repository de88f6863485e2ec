//! One saga, one TCC transaction, one event of a timer.

use askama::Template;
use axum::{
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use claimstream_domain::{
    MessageId,
    saga::{SagaId, SagaRecord},
    step::{RunKind, StepListed},
    timer_event::Tick,
};
use serde::Deserialize;
use uuid::Uuid;

use crate::{
    frame::{Frame, answer},
    refusal::Refusal,
    request_context::RequestContext,
    run_message::RunMessage,
    run_stores::RunStores,
    shown::span,
};

/// The most rows of a run that are shown.
const MOST: u32 = 1_000;

/// A saga, as an address or a form names it.
#[derive(Clone, Deserialize)]
pub(crate) struct NamedSaga {
    scope: String,
    id: Uuid,
}

/// A TCC transaction, as an address names it.
#[derive(Deserialize)]
pub(crate) struct NamedTransaction {
    id: String,
}

/// An event, as an address names it.
#[derive(Deserialize)]
pub(crate) struct NamedEvent {
    scheme: String,
    occurrence: String,
}

type QueryResult<T> = Result<Query<T>, QueryRejection>;

/// One saga with its steps and its messages, without its input.
pub(crate) async fn saga(context: RequestContext, asked: QueryResult<NamedSaga>) -> Response {
    shown(&context, async |stores, frame| {
        let Query(named) = asked.map_err(|rejection| Refusal::invalid(rejection.body_text()))?;
        named.page(stores, frame).await
    })
    .await
}

/// One TCC transaction with its branches.
pub(crate) async fn transaction(context: RequestContext, asked: QueryResult<NamedTransaction>) -> Response {
    shown(&context, async |stores, frame| {
        let Query(NamedTransaction { id }) =
            asked.map_err(|rejection| Refusal::invalid(rejection.body_text()))?;
        let own = rows(stores, &RunKind::Tcc.scope(""), &id).await?;
        let branches = rows(stores, &RunKind::Branch.scope(""), &id).await?;
        if own.is_empty() && branches.is_empty() {
            return Err(Refusal::gone(
                "There is no transaction with this id in this database, and no branch of it.",
            ));
        }
        let mut page = RunPage::of("TCC transaction", id, own.first(), &branches, frame);
        (page.rows_are, page.back) = ("Branch", ("/tcc", "All transactions"));
        if own.is_empty() {
            page.note = Some("Its coordinator keeps it in another database, or it has been deleted there.");
        }
        Ok(page)
    })
    .await
}

/// One event of a timer with its decisions and its messages.
pub(crate) async fn event(context: RequestContext, asked: QueryResult<NamedEvent>) -> Response {
    shown(&context, async |stores, frame| {
        let Query(NamedEvent { scheme, occurrence }) =
            asked.map_err(|rejection| Refusal::invalid(rejection.body_text()))?;
        let scope = RunKind::TimerEvent.scope(&scheme);
        let rows = rows(stores, &scope, &occurrence).await?;
        let known = match Tick::of_run(&scope, &occurrence) {
            Some(tick) => vec![("tick", tick.message_id()), ("deadline", tick.deadline_id())],
            None => Vec::new(),
        };
        let messages = messages(stores, &known, &frame).await?;
        if rows.is_empty() && messages.is_empty() {
            return Err(Refusal::gone(
                "There is no event of this scheme and occurrence: it was never due, or its rows are deleted.",
            ));
        }
        let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.step.is_empty());
        let mut page = RunPage::of("Event", occurrence, own.first(), &others, frame);
        page.facts.insert(0, ("Scheme", scheme));
        if own.is_empty() {
            page.note = Some("It has not begun.");
        }
        (page.messages, page.back) = (messages, ("/timers/events", "All events"));
        Ok(page)
    })
    .await
}

/// Answers the page, or the reason why there is none.
async fn shown(
    context: &RequestContext,
    page: impl AsyncFnOnce(&RunStores, Frame) -> Result<RunPage, Refusal>,
) -> Response {
    let Some(stores) = &context.app.stores.runs else { return context.refuse(&Refusal::no_such_page()) };
    match page(stores, context.frame()).await {
        Ok(page) => answer(StatusCode::OK, &page),
        Err(refusal) => context.refuse(&refusal),
    }
}

async fn rows(stores: &RunStores, scope: &str, run: &str) -> Result<Vec<StepListed>, Refusal> {
    stores.runs.steps(scope, run, MOST).await.map_err(|error| Refusal::of_store(&error))
}

async fn messages(
    stores: &RunStores,
    known: &[(&'static str, MessageId)],
    frame: &Frame,
) -> Result<Vec<RunMessage>, Refusal> {
    RunMessage::find(&*stores.messages, known, frame).await.map_err(|error| Refusal::of_store(&error))
}

impl NamedSaga {
    /// The saga's scope.
    pub(crate) fn scope(&self) -> String {
        RunKind::Saga.scope(&self.scope)
    }

    /// Its id.
    pub(crate) fn id(&self) -> SagaId {
        SagaId::new(self.id)
    }

    /// The address of its page.
    pub(crate) fn link(&self, frame: &Frame) -> String {
        frame.about("/sagas/one", &[("scope", &self.scope()), ("id", &self.id.to_string())])
    }

    async fn page(&self, stores: &RunStores, frame: Frame) -> Result<RunPage, Refusal> {
        let (scope, id) = (self.scope(), self.id());
        let rows = rows(stores, &scope, &id.to_string()).await?;
        let record = stores.sagas.saga(&scope, id).await.map_err(|error| Refusal::of_store(&error))?;
        if rows.is_empty() && record.is_none() {
            return Err(Refusal::gone(
                "There is no saga of this name and id in this database. A saga is shown in its home.",
            ));
        }
        let messages = messages(stores, &id.messages(&scope), &frame).await?;
        let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.step.is_empty());
        let own = own.first();
        let is_open = own.is_some_and(|own| own.standing.is_open) && record.is_some();
        let mut page = RunPage::of("Saga", id.to_string(), own, &others, frame);
        page.facts.insert(0, ("Name", scope));
        page.facts.extend(record.iter().map(|record| ("Owner", record.owner.to_string())));
        page.facts.extend(record.iter().filter_map(reason).map(|reason| ("Called off", reason)));
        if own.is_none() {
            page.note = Some(
                "It ended so long ago that its rows are deleted; it was asked for, and no more is known.",
            );
        }
        page.dead = messages.iter().find_map(|message| message.dead.clone());
        page.continues = (is_open && page.dead.is_none() && page.frame.may_change()).then(|| self.clone());
        (page.messages, page.back) = (messages, ("/sagas", "All sagas"));
        Ok(page)
    }
}

/// Why a saga was called off, if it was.
fn reason(record: &SagaRecord) -> Option<String> {
    let result = record.row.as_ref()?.result.as_ref()?;
    Some(String::from_utf8_lossy(result.as_bytes()).into_owned())
}

struct RowShown {
    step: String,
    state: &'static str,
    quiet_for: String,
    age: String,
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    title: &'static str,
    run: String,
    facts: Vec<(&'static str, String)>,
    /// A sentence on what is missing.
    note: Option<&'static str>,
    rows_are: &'static str,
    rows: Vec<RowShown>,
    messages: Vec<RunMessage>,
    /// The page of a dead letter that stands in the saga's way.
    dead: Option<String>,
    /// The saga that may be continued.
    continues: Option<NamedSaga>,
    /// The list that it is in.
    back: (&'static str, &'static str),
}

impl RunPage {
    fn of(
        title: &'static str,
        run: String,
        own: Option<&StepListed>,
        rows: &[StepListed],
        frame: Frame,
    ) -> Self {
        let facts = own.map(|own| {
            [
                ("State", own.standing.state.to_owned()),
                ("Changed", format!("{} ago", span(own.quiet_for))),
                ("Began", format!("{} ago", span(own.age))),
            ]
        });
        let row = |row: &StepListed| RowShown {
            step: row.step.to_string(),
            state: row.standing.state,
            quiet_for: span(row.quiet_for),
            age: span(row.age),
        };
        Self {
            frame,
            title,
            run,
            facts: facts.into_iter().flatten().collect(),
            note: None,
            rows_are: "Step",
            rows: rows.iter().map(row).collect(),
            messages: Vec::new(),
            dead: None,
            continues: None,
            back: ("/", "Queues"),
        }
    }
}
