use std::{
    collections::BTreeMap,
    mem,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::Verdict;
use claimstream_ports::Handler;
use futures::{FutureExt, StreamExt, future::AbortHandle};

use super::{
    attempt::{Ended, attempt},
    future_set::FutureSet,
    time_limit::TimeLimit,
    work::{CutShort, EndedAttempt, ReasonSource, Work},
};
use crate::{
    concurrency::Places,
    in_flight::Ticket,
    report::DeadLetterClass,
    settle::ClaimHandle,
    stream::{Claim, Claims},
};

/// The messages that a pipeline's handler is at.
pub(crate) struct Attempts {
    handler: Arc<dyn Handler>,
    concurrency: usize,
    futures: FutureSet<(Ticket, Ended)>,
    /// Those whose claims are still ours, the oldest first.
    running: BTreeMap<Ticket, Running>,
    places: Places,
    time_limit: TimeLimit,
    cut_short: CutShort,
}

struct Running {
    handle: ClaimHandle,
    stop: AbortHandle,
    /// When it began.
    began: Duration,
    /// When it has to be over.
    end: Duration,
}

impl Attempts {
    pub(crate) fn new(
        handler: Arc<dyn Handler>,
        concurrency: usize,
        places: Places,
        time_limit: TimeLimit,
    ) -> Self {
        Self {
            handler,
            concurrency,
            futures: FutureSet::new(),
            running: BTreeMap::new(),
            places,
            time_limit,
            cut_short: CutShort::default(),
        }
    }

    /// Lets the handler begin with a message.
    fn start(&mut self, claim: Claim) {
        let (claimed, handle) = claim.into_parts();
        let (stop, registration) = AbortHandle::new_pair();
        let ticket = handle.ticket();
        self.futures.push(attempt(Arc::clone(&self.handler), ticket, claimed, registration).boxed());
        let (began, end) = self.time_limit.span();
        self.running.insert(ticket, Running { handle, stop, began, end });
    }

    /// Stops the attempts that have had all their time; they have failed.
    fn poll_over_time(&mut self, cx: &mut Context<'_>, ended: &mut Vec<EndedAttempt>) -> bool {
        let first = self.running.values().next().map(|running| running.end);
        let Poll::Ready(now) = self.time_limit.poll_over(cx, first) else { return false };
        let limit = self.time_limit.limit();
        while let Some(oldest) = self.running.first_entry().filter(|oldest| oldest.get().end <= now) {
            let Running { handle, stop, began, .. } = oldest.remove();
            stop.abort();
            self.cut_short.timed_out += 1;
            let verdict = Verdict::nack(format_args!("no verdict within {limit:?}"));
            let (class, reason_source) = (DeadLetterClass::TimedOut, ReasonSource::Nothing);
            ended.push(EndedAttempt { handle, verdict, class, reason_source, began: Some(began) });
        }
        true
    }

    /// What a handler came to about a message that is still ours.
    fn ended(&mut self, Running { handle, began, .. }: Running, how: Ended) -> Option<EndedAttempt> {
        let (verdict, class, payload) = match how {
            Ended::Verdict(verdict, payload) => {
                let class = DeadLetterClass::of(&verdict);
                (verdict, class, payload)
            }
            Ended::Panicked(verdict, payload) => {
                self.cut_short.panicked += 1;
                (verdict, DeadLetterClass::Panicked, payload)
            }
            Ended::Stopped => return None,
        };
        Some(EndedAttempt {
            handle,
            verdict,
            class,
            reason_source: ReasonSource::One(payload),
            began: Some(began),
        })
    }
}

impl Work for Attempts {
    fn poll_start(&mut self, cx: &mut Context<'_>, claims: &mut Claims) -> bool {
        let mut moved = false;
        while self.futures.len() < self.concurrency && self.places.take(cx, 1) > 0 {
            match claims.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(claim))) => self.start(claim),
                // It is in the trace and the monitor shows it; it may be mended while the pipeline goes on.
                Poll::Ready(Some(Err(_))) => self.places.keep(self.futures.len()),
                Poll::Ready(None) | Poll::Pending => {
                    self.places.keep(self.futures.len());
                    return moved;
                }
            }
            moved = true;
        }
        moved
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>, ended: &mut Vec<EndedAttempt>) -> bool {
        let mut moved = false;
        self.futures.begin_round();
        while let Poll::Ready((ticket, how)) = self.futures.poll_done(cx) {
            // Whatever it came to, a claim that was lost meanwhile is not ours to settle.
            let running = self.running.remove(&ticket);
            ended.extend(running.and_then(|running| self.ended(running, how)));
            moved = true;
        }
        self.places.keep(self.futures.len());
        // A verdict that is ready counts, also in the moment in which the time is up.
        moved | self.poll_over_time(cx, ended)
    }

    fn start_no_more(&mut self) {
        self.places.stop();
    }

    fn stop(&mut self, ticket: Ticket) -> Option<ClaimHandle> {
        let Running { handle, stop, .. } = self.running.remove(&ticket)?;
        stop.abort();
        Some(handle)
    }

    fn stop_all(&mut self, _: &mut Vec<EndedAttempt>) -> Vec<ClaimHandle> {
        self.futures.clear();
        self.places.keep(0);
        mem::take(&mut self.running).into_values().map(|running| running.handle).collect()
    }

    fn is_empty(&self) -> bool {
        self.futures.is_empty()
    }

    fn running(&self) -> usize {
        self.running.len()
    }

    fn cut_short(&self) -> CutShort {
        self.cut_short
    }
}
