use std::{borrow::Cow, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Due, Enqueued, NewMessage,
    saga::{NewSaga, SagaId, SagaRecord},
    step::{Begun, NewStep, Step, StepChange, StepKey},
    timer_event::Tick,
};
use claimstream_ports::{
    Enqueue, ServerClock, StoreError, Transactions,
    saga::{NoteSagas, SagaReports},
    step::{LockWait, Locked, StepLedger},
};
use opentelemetry::{Context, KeyValue, trace::TraceContextExt};

use crate::trace_context::carry;

/// A store for sagas, TCC coordinators, timer events and inboxes whose messages belong to the trace in which they were enqueued.
///
/// Every message that is enqueued through it gets the current span into its headers, unless it carries a trace already: the check message of
/// a saga, the messages of a TCC transaction, the deadline of a timer's event, alarms, and whatever a step enqueues. The tick of a timer's next occurrence
/// gets none, so that each event is a trace of its own. So a saga that is begun in a span, be it
/// that of an HTTP request or that of a [`TracedHandler`](crate::TracedHandler), continues that trace in the process that completes it; wrap the
/// saga in a `TracedHandler` where it is the handler of a pipeline.
///
/// A step that is begun or changed is an event of the current span: `step begun` or `step changed`, with `claimstream.scope`, `claimstream.run`,
/// `claimstream.step` and `claimstream.state`. An event is added before the transaction commits; one that is restarted adds it again. Results and
/// inputs are not traced.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracedStore<S> {
    inner: S,
}

impl<S> TracedStore<S> {
    /// Traces what goes through this store.
    pub fn new(store: S) -> Self {
        Self { inner: store }
    }

    /// The store.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

#[async_trait]
impl<S, Tx> Enqueue<Tx> for TracedStore<S>
where
    S: Enqueue<Tx>,
    Tx: Sync + ?Sized,
{
    async fn enqueue(&self, tx: &Tx, messages: &[NewMessage]) -> Result<Vec<Enqueued>, StoreError> {
        let messages = carrying(messages);
        self.inner.enqueue(tx, &messages).await
    }
}

#[async_trait]
impl<S, Tx> StepLedger<Tx> for TracedStore<S>
where
    S: StepLedger<Tx>,
    Tx: Sync + ?Sized,
{
    async fn begin(&self, tx: &Tx, step: &NewStep) -> Result<Begun, StoreError> {
        let begun = self.inner.begin(tx, step).await?;
        if let Begun::New(new) = &begun {
            note("step begun", &step.key, new.state);
        }
        Ok(begun)
    }

    async fn advance(
        &self,
        tx: &Tx,
        key: &StepKey,
        from: &Step,
        change: &StepChange,
    ) -> Result<Option<Step>, StoreError> {
        let changed = self.inner.advance(tx, key, from, change).await?;
        if let Some(step) = &changed {
            note("step changed", key, step.state);
        }
        Ok(changed)
    }

    async fn find(&self, tx: &Tx, key: &StepKey) -> Result<Option<Step>, StoreError> {
        self.inner.find(tx, key).await
    }

    async fn lock(&self, tx: &Tx, key: &StepKey, wait: LockWait) -> Result<Locked, StoreError> {
        self.inner.lock(tx, key, wait).await
    }
}

#[async_trait]
impl<S: Transactions> Transactions for TracedStore<S> {
    type Tx = S::Tx;

    async fn begin_tx(&self) -> Result<S::Tx, StoreError> {
        self.inner.begin_tx().await
    }

    async fn commit_tx(&self, tx: S::Tx) -> Result<(), StoreError> {
        self.inner.commit_tx(tx).await
    }

    async fn roll_back_tx(&self, tx: S::Tx) -> Result<(), StoreError> {
        self.inner.roll_back_tx(tx).await
    }
}

#[async_trait]
impl<S, Tx> NoteSagas<Tx> for TracedStore<S>
where
    S: NoteSagas<Tx>,
    Tx: Sync + ?Sized,
{
    async fn note(&self, tx: &Tx, saga: &NewSaga) -> Result<(), StoreError> {
        self.inner.note(tx, saga).await
    }
}

#[async_trait]
impl<S: SagaReports> SagaReports for TracedStore<S> {
    async fn saga(&self, scope: &str, id: SagaId) -> Result<Option<SagaRecord>, StoreError> {
        self.inner.saga(scope, id).await
    }

    async fn sagas_of(
        &self,
        scope: &str,
        owner: &str,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaRecord>, StoreError> {
        self.inner.sagas_of(scope, owner, after, limit).await
    }
}

#[async_trait]
impl<S: ServerClock> ServerClock for TracedStore<S> {
    async fn late(&self, due: Due) -> Result<Duration, StoreError> {
        self.inner.late(due).await
    }
}

/// The messages with the current span in their headers; one whose headers have no room for it keeps what it has.
fn carrying(messages: &[NewMessage]) -> Cow<'_, [NewMessage]> {
    let context = Context::current();
    let span = context.span();
    let current = span.span_context();
    let is_untraced =
        |message: &NewMessage| message.headers.get("traceparent").is_none() && !is_tick(message);
    if !current.is_valid() || !messages.iter().any(is_untraced) {
        return Cow::Borrowed(messages);
    }
    let mut messages = messages.to_vec();
    for message in messages.iter_mut().filter(|message| is_untraced(message)) {
        let _ = carry(&mut message.headers, current);
    }
    Cow::Owned(messages)
}

/// Whether it begins the next event of a timer, which is not a part of the one that enqueues it: otherwise a timer would be one endless trace.
fn is_tick(message: &NewMessage) -> bool {
    let key = message.dedup_key.as_ref().and_then(|key| Tick::of_key(key.as_str()));
    key.is_some_and(|tick| tick.deadline_id() != message.id)
}

fn note(event: &'static str, key: &StepKey, state: u8) {
    let context = Context::current();
    if !context.has_active_span() {
        return;
    }
    let attributes = vec![
        KeyValue::new("claimstream.scope", key.scope().to_owned()),
        KeyValue::new("claimstream.run", key.run().to_owned()),
        KeyValue::new("claimstream.step", key.step().to_owned()),
        KeyValue::new("claimstream.state", i64::from(state)),
    ];
    context.span().add_event(event, attributes);
}
