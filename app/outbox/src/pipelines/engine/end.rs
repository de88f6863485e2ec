use std::{
    sync::Arc,
    task::{Context, Poll},
};

use super::{Engine, Handlers};
use crate::pipelines::{
    batch_progress::BatchProgress,
    call::{Call, CallMessages},
    ended_attempt::{EndedAttempt, ReasonSource},
    handler_call::{CallEnd, EndedCall},
    verdict_box::GivenVerdict,
};

impl Engine {
    /// Ends the attempts at messages of batches on which verdicts were given.
    pub(super) fn take_verdicts(&mut self, ended: &mut Vec<EndedAttempt>) -> bool {
        if let Handlers::One(_) = self.handlers {
            return false;
        }
        let given = self.verdicts.take();
        let any = !given.is_empty();
        for GivenVerdict { call, index, verdict } in given {
            let taken = self.calls.get_mut(&call).and_then(|call| Some((call.take(index)?, call.began)));
            let Some((taken, began)) = taken else {
                tracing::debug!(
                    index,
                    "a verdict comes second, or on a message that is lost, and is ignored"
                );
                continue;
            };
            self.in_flight -= 1;
            ended.push(EndedAttempt::new(taken, CallEnd::Returned(Some(verdict)), None, began));
        }
        any
    }

    /// Takes in the end of a call. What of a batch has no verdict is handed out alone, or has failed if it was alone.
    pub(super) fn call_ended(
        &mut self,
        EndedCall { number, end, payload }: EndedCall,
        ended: &mut Vec<EndedAttempt>,
    ) {
        // A call with one message is forgotten when its message is lost or its time is up.
        let Some(Call { messages, began, timed_out, .. }) = self.calls.remove(&number) else { return };
        self.cut_short.panicked += u64::from(matches!(end, CallEnd::Panicked(_)));
        let (taken, batch) = match messages {
            CallMessages::One(handle) => {
                (Some((handle, payload.map_or(ReasonSource::Nothing, ReasonSource::One))), None)
            }
            CallMessages::Batch(mut batch) if batch.len() == 1 => (batch.take(0), Some(batch)),
            CallMessages::Batch(mut batch) => {
                self.log_failure(&batch, &end, timed_out);
                batch.set_apart();
                (None, Some(batch))
            }
        };
        if let Some(taken) = taken {
            self.in_flight -= 1;
            let timed_out = timed_out.then(|| self.time_limit.limit());
            ended.push(EndedAttempt::new(taken, end, timed_out, began));
        }
        if let (Some(mut batch), Handlers::Batch(handler, _)) = (batch, &self.handlers)
            && batch.next_alone()
        {
            self.call_batch(Arc::clone(handler), batch);
        }
    }

    /// Logs that a call with several messages failed, unless there have been many such lines of late.
    fn log_failure(&mut self, batch: &BatchProgress, end: &CallEnd, timed_out: bool) {
        let how = match end {
            CallEnd::Panicked(_) => "panicked",
            CallEnd::Stopped if timed_out => "took too long",
            CallEnd::Returned(_) | CallEnd::Stopped => return,
        };
        let Some(unlogged) = self.limit.admit(self.time_limit.now()) else { return };
        let (without, of, unlogged) = (batch.without_verdict(), batch.len(), unlogged.field());
        tracing::warn!(
            without,
            of,
            how,
            unlogged,
            "a batch handler failed; messages without a verdict come alone"
        );
    }

    /// Stops the calls that have had all their time. The attempt of a handler that returns its verdict has ended with that; a batch may
    /// still get some while its handler is dropped.
    pub(super) fn poll_timeouts(&mut self, cx: &mut Context<'_>, ended: &mut Vec<EndedAttempt>) -> bool {
        let first = self.calls.values().find_map(|call| call.end);
        let Poll::Ready(now) = self.time_limit.poll_over(cx, first) else { return false };
        let over = self.calls.iter_mut().take_while(|(_, call)| call.end.is_none_or(|end| end <= now));
        let mut stopped = Vec::new();
        for (number, call) in over.filter(|(_, call)| call.end.is_some()) {
            call.timed_out = true;
            call.stop();
            self.cut_short.timed_out += 1;
            if let CallMessages::One(_) = call.messages {
                stopped.push(EndedCall { number: *number, end: CallEnd::Stopped, payload: None });
            }
        }
        stopped.into_iter().for_each(|call| self.call_ended(call, ended));
        true
    }
}
