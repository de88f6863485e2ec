use std::{
    borrow::Cow,
    pin::Pin,
    sync::Arc,
    task::{Poll, ready},
};

use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::Handler;
use opentelemetry::{
    Context,
    global::{self, BoxedTracer},
};

use crate::{
    attributes::SCOPE,
    process_span::{Deciding, ProcessSpan},
};

/// Handles each message as another handler does, in a span `process {queue}`.
///
/// The span is current while the handler works. The headers that the handler sees name it, and so do messages that its verdict enqueues, unless they
/// carry another trace. A message whose span the sampler drops is handed on as it is, unless its headers say that its trace is sent.
#[derive(Clone, Debug)]
pub struct TracedHandler<H> {
    inner: H,
    tracer: Arc<BoxedTracer>,
    deciding: Deciding,
}

impl<H> TracedHandler<H> {
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

/// Written out, because the future of an async function has room for the copy of a message, also where none is made.
impl<H: Handler> Handler for TracedHandler<H> {
    fn handle<'a, 'c, 'f>(&'a self, claimed: &'c Claimed) -> Verdicting<'f>
    where
        'a: 'f,
        'c: 'f,
        Self: 'f,
    {
        let span = ProcessSpan::begin(&self.tracer, self.deciding, claimed);
        match span.carried_by(claimed) {
            Cow::Borrowed(claimed) => Box::pin(InSpan::new(self.inner.handle(claimed), span)),
            Cow::Owned(claimed) => {
                Box::pin(async move { InSpan::new(self.inner.handle(&claimed), span).await })
            }
        }
    }
}

/// A handler at work.
type Verdicting<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// A handler at work in its span, which ends with its verdict.
struct InSpan<'a> {
    handling: Verdicting<'a>,
    span: ProcessSpan,
    context: Context,
}

impl<'a> InSpan<'a> {
    fn new(handling: Verdicting<'a>, span: ProcessSpan) -> Self {
        Self { handling, context: span.context(), span }
    }
}

impl Future for InSpan<'_> {
    type Output = Verdict;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Verdict> {
        let current = self.context.clone().attach();
        let mut verdict = ready!(self.handling.as_mut().poll(cx));
        drop(current);
        self.span.end(&mut verdict);
        Poll::Ready(verdict)
    }
}
