use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::{BatchHandler, Verdicts};
use opentelemetry::global::{self, BoxedTracer};

use crate::{attributes::SCOPE, process_span::ProcessSpan};

/// Handles batches as another handler does; each message has a span `process {queue}` until its verdict is given.
///
/// No span is current while the handler works, because it works on many messages. The headers that it sees name the span of their message, and so do
/// messages that a verdict enqueues, unless they carry another trace. A batch whose spans the sampler drops is handed on as it is, unless headers say that
/// a trace is sent.
#[derive(Clone, Debug)]
pub struct TracedBatchHandler<H> {
    inner: H,
    tracer: Arc<BoxedTracer>,
}

impl<H> TracedBatchHandler<H> {
    /// Traces a handler by the global provider, which is installed first.
    pub fn new(handler: H) -> Self {
        Self { inner: handler, tracer: Arc::new(global::tracer(SCOPE)) }
    }
}

#[async_trait]
impl<H: BatchHandler> BatchHandler for TracedBatchHandler<H> {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let spans: Vec<_> = batch.iter().map(|claimed| ProcessSpan::begin(&self.tracer, claimed)).collect();
        let carried = carried_by(batch, &spans);
        let spans = spans.into_iter().map(|span| Mutex::new(Some(span))).collect();
        self.inner.handle_batch(&carried, &Spans { spans, verdicts }).await;
    }
}

/// The messages as their handler sees them; a batch of which no message is to name its span stays as it is.
fn carried_by<'a>(batch: &'a [Claimed], spans: &[ProcessSpan]) -> Cow<'a, [Claimed]> {
    if !spans.iter().any(ProcessSpan::is_to_be_carried) {
        return Cow::Borrowed(batch);
    }
    batch.iter().zip(spans).map(|(claimed, span)| span.carried_by(claimed).into_owned()).collect()
}

/// Ends the span of each message with its verdict.
struct Spans<'a> {
    spans: Vec<Mutex<Option<ProcessSpan>>>,
    verdicts: &'a dyn Verdicts,
}

impl Verdicts for Spans<'_> {
    fn give(&self, index: usize, mut verdict: Verdict) {
        let place = self.spans.get(index);
        let span = place.and_then(|span| span.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(mut span) = span {
            span.end(&mut verdict);
        }
        self.verdicts.give(index, verdict);
    }
}
