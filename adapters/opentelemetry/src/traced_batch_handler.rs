use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::{BatchHandler, Verdicts};
use opentelemetry::global::{self, BoxedTracer};

use crate::{
    attributes::SCOPE,
    process_span::{Deciding, ProcessSpan},
};

/// Handles batches as another handler does; each message has a span `process {queue}` until its verdict is given.
///
/// No span is current while the handler works, because it works on many messages. The headers that it sees name the span of their message, and so do
/// messages that a verdict enqueues, unless they carry another trace. A batch whose spans the sampler drops is handed on as it is, unless headers say that
/// a trace is sent.
#[derive(Clone, Debug)]
pub struct TracedBatchHandler<H> {
    inner: H,
    tracer: Arc<BoxedTracer>,
    deciding: Deciding,
}

impl<H> TracedBatchHandler<H> {
    /// Traces a handler by the global provider, which is installed first.
    pub fn new(handler: H) -> Self {
        Self { inner: handler, tracer: Arc::new(global::tracer(SCOPE)), deciding: Deciding::default() }
    }

    /// The same for a provider whose sampler is based on parents. It is not asked about the first attempt at a message whose headers say that its trace
    /// is not sent, since it would say the same. With another sampler such messages would never have a span.
    pub fn obeying_creators(self) -> Self {
        Self { deciding: Deciding::Creator, ..self }
    }
}

#[async_trait]
impl<H: BatchHandler> BatchHandler for TracedBatchHandler<H> {
    async fn handle_batch(&self, batch: &[Claimed], verdicts: &dyn Verdicts) {
        let spans: Vec<_> =
            batch.iter().map(|claimed| ProcessSpan::begin(&self.tracer, self.deciding, claimed)).collect();
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
