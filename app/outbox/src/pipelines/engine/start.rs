use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use claimstream_ports::{BatchHandler, Handler};
use futures::{
    FutureExt,
    future::{AbortHandle, BoxFuture},
};

use super::{Engine, Handlers};
use crate::pipelines::{
    batch_progress::BatchProgress,
    call::{Call, CallMessages},
    handler_call::{EndedCall, call_batch, call_one},
    verdict_box::Slot,
};
use crate::stream::{Claim, Claims};

impl Engine {
    /// Takes what comes next from the stream, up to `room` messages, and calls the handler with it.
    ///
    /// An error is in the trace and the monitor shows it; it may be mended while the pipeline goes on.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>, claims: &mut Claims, room: usize) -> Poll<()> {
        match &mut self.handlers {
            Handlers::One(handler) => {
                if let Ok(claim) = ready!(claims.poll_claim(cx)) {
                    let handler = Arc::clone(handler);
                    self.call_one(handler, claim);
                }
            }
            Handlers::Batch(handler, linger) => {
                if let Ok(batch) = ready!(claims.poll_batch(cx, linger, room)) {
                    let handler = Arc::clone(handler);
                    self.in_flight += batch.len();
                    self.call_batch(handler, Box::new(BatchProgress::new(batch)));
                }
            }
        }
        Poll::Ready(())
    }

    fn call_one(&mut self, handler: Arc<dyn Handler>, claim: Claim) {
        let (claimed, handle) = claim.into_parts();
        let (stop, registration) = AbortHandle::new_pair();
        self.in_flight += 1;
        let future = call_one(handler, claimed, self.next, registration).boxed();
        self.begin(CallMessages::One(handle), future, stop);
    }

    pub(super) fn call_batch(&mut self, handler: Arc<dyn BatchHandler>, batch: Box<BatchProgress>) {
        let (stop, registration) = AbortHandle::new_pair();
        let verdicts = Slot { verdicts: Arc::clone(&self.verdicts), call: self.next, messages: batch.len() };
        let (messages, which) = batch.called();
        let future = call_batch(handler, messages, which, verdicts, registration).boxed();
        self.begin(CallMessages::Batch(batch), future, stop);
    }

    fn begin(&mut self, messages: CallMessages, future: BoxFuture<'static, EndedCall>, stop: AbortHandle) {
        self.futures.push(future);
        let (began, end) = self.time_limit.span();
        let call = Call { messages, stop, began, end: Some(end), timed_out: false };
        self.calls.insert(self.next, call);
        self.next += 1;
    }
}
