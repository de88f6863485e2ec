use std::sync::Arc;

use async_trait::async_trait;
use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::Handler;
use opentelemetry::{
    global::{self, BoxedTracer},
    trace::FutureExt,
};

use crate::{attributes::SCOPE, process_span::ProcessSpan};

/// Handles each message as another handler does, in a span `process {queue}`.
///
/// The span is current while the handler works. The headers that the handler sees name it, and so do messages that its verdict enqueues, unless they
/// carry another trace.
#[derive(Clone, Debug)]
pub struct TracedHandler<H> {
    inner: H,
    tracer: Arc<BoxedTracer>,
}

impl<H> TracedHandler<H> {
    /// Traces a handler by the global provider, which is installed first.
    pub fn new(handler: H) -> Self {
        Self { inner: handler, tracer: Arc::new(global::tracer(SCOPE)) }
    }
}

#[async_trait]
impl<H: Handler> Handler for TracedHandler<H> {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let span = ProcessSpan::begin(&self.tracer, claimed);
        let carried = span.carried_by(claimed);
        let mut verdict = self.inner.handle(&carried).with_context(span.context()).await;
        span.end(&mut verdict);
        verdict
    }
}
