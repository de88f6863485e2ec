use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::{Settled, Verdict};
use claimstream_ports::Handler;
use futures::{FutureExt, StreamExt, future::BoxFuture};

use crate::{
    Claims, DeadLetterClass, PipelineReport, RelayError,
    attempt::Ended,
    attempts::Attempts,
    claim_handle::ClaimHandle,
    failed_attempts::{Attempt, FailedAttempts},
    future_set::FutureSet,
    renewer::Renewer,
    ticket::Ticket,
    time_limit::TimeLimit,
};

/// One run of a pipeline: everything that is under way in it.
pub(crate) struct Run {
    claims: Claims,
    renewer: Renewer,
    attempts: Attempts,
    settlements: FutureSet<Result<Settled, RelayError>>,
    phase: Phase,
    failed_attempts: FailedAttempts,
    panicked: u64,
    timed_out: u64,
}

enum Phase {
    /// Claiming and handling.
    Working,
    /// Told to stop; running handlers may finish in this time. All is over at the moment that is named.
    Draining(BoxFuture<'static, ()>, Duration),
    /// No handler runs any longer; open settlements may be written in this time.
    Ending(BoxFuture<'static, ()>),
    /// Settlements that have not been written are given up.
    Over,
}

impl Run {
    /// How often everything is looked at before the executor gets its turn, however much there is to do.
    const TURNS: usize = 64;
    /// How long after the drain time settlements may still be written.
    const LAST_WRITES: Duration = Duration::from_secs(2);

    pub(crate) fn new(claims: Claims, handler: Arc<dyn Handler>, concurrency: usize) -> Self {
        let setup = &claims.settler().setup;
        let failed_attempts = FailedAttempts::new(claims.queue().clone(), setup.config.retry.max_attempts);
        let time_limit = TimeLimit::new(Arc::clone(&setup.timer), setup.config.handle_timeout);
        Self {
            renewer: Renewer::new(Arc::clone(claims.settler())),
            claims,
            attempts: Attempts::new(handler, concurrency, time_limit),
            settlements: FutureSet::new(),
            phase: Phase::Working,
            failed_attempts,
            panicked: 0,
            timed_out: 0,
        }
    }

    /// Drives everything; ready when all is done after `shutdown`.
    pub(crate) fn poll<S: Future<Output = ()>>(
        &mut self,
        cx: &mut Context<'_>,
        mut shutdown: Pin<&mut S>,
    ) -> Poll<()> {
        for _ in 0..Self::TURNS {
            if matches!(self.phase, Phase::Working) && shutdown.as_mut().poll(cx).is_ready() {
                self.drain();
            }
            let mut moved = self.poll_renewer(cx);
            // A verdict that is ready counts, also in the moment in which the time is up.
            moved |= self.poll_attempts(cx);
            moved |= self.poll_time_limit(cx);
            moved |= self.poll_phase(cx);
            // Only when nothing else moves, so that as many settlements as possible are written together.
            moved = moved || self.poll_settlements(cx);
            if !moved {
                return if self.is_over() { Poll::Ready(()) } else { Poll::Pending };
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// What became of the messages.
    pub(crate) fn report(&self) -> PipelineReport {
        let Self { panicked, timed_out, .. } = *self;
        PipelineReport { panicked, timed_out, ..self.claims.settler().open_claims.tally() }
    }

    fn is_over(&self) -> bool {
        let ended = self.settlements.is_empty() && self.claims.is_stopped();
        matches!(self.phase, Phase::Ending(_)) && ended || matches!(self.phase, Phase::Over)
    }

    fn poll_renewer(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(lost) = self.renewer.poll_lost(cx) {
            lost.into_iter().for_each(|ticket| self.lose(ticket));
            moved = true;
        }
        moved
    }

    /// Stops the attempt at a message that is no longer ours.
    fn lose(&mut self, ticket: Ticket) {
        if let Some(handle) = self.attempts.stop(ticket) {
            tracing::warn!(queue = %self.claims.queue(), message_id = %handle.message(), "lease lost, handler stopped");
            self.settlements.push(handle.lose().boxed());
        }
    }

    /// Stops handlers that have had all their time; their attempts have failed.
    fn poll_time_limit(&mut self, cx: &mut Context<'_>) -> bool {
        let Poll::Ready(over_time) = self.attempts.poll_over_time(cx) else { return false };
        let limit = self.attempts.time_limit();
        for handle in over_time {
            self.timed_out += 1;
            let verdict = Verdict::nack(format_args!("no verdict within {limit:?}"));
            self.settle(handle, verdict, DeadLetterClass::TimedOut, &[]);
        }
        true
    }

    fn poll_attempts(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        self.attempts.begin_round();
        while let Poll::Ready((handle, ended)) = self.attempts.poll_ended(cx) {
            // Whatever it came to, a claim that was lost meanwhile is not ours to settle.
            if let Some(handle) = handle {
                self.ended(handle, ended);
            }
            moved = true;
        }
        moved
    }

    fn ended(&mut self, handle: ClaimHandle, ended: Ended) {
        match ended {
            Ended::Verdict(verdict, payload) => {
                let class = DeadLetterClass::of(&verdict);
                self.settle(handle, verdict, class, payload.bytes());
            }
            Ended::Panicked(verdict, payload) => {
                self.panicked += 1;
                self.settle(handle, verdict, DeadLetterClass::Panicked, payload.bytes());
            }
            Ended::Stopped => {}
        }
    }

    /// Ends a claim; `payload` is its message's, if its handler has said why the attempt failed.
    fn settle(&mut self, handle: ClaimHandle, verdict: Verdict, class: DeadLetterClass, payload: &[u8]) {
        let disposition = handle.decide(verdict);
        let (message, number) = (handle.message(), handle.attempt());
        let attempt = Attempt { message, number, disposition: &disposition, class, payload };
        self.failed_attempts.note(&attempt, self.claims.settler().setup.timer.now());
        self.settlements.push(handle.settle_as(disposition, class).boxed());
    }

    fn poll_settlements(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        self.settlements.begin_round();
        // Their outcomes are counted already, and in the trace where they failed.
        while self.settlements.poll_done(cx).is_ready() {
            moved = true;
        }
        moved
    }

    fn poll_phase(&mut self, cx: &mut Context<'_>) -> bool {
        if let Phase::Working = self.phase {
            return self.poll_claims(cx);
        }
        let _ = self.claims.poll_stopped(cx);
        match &mut self.phase {
            Phase::Working | Phase::Over => false,
            Phase::Draining(time, end) => {
                if !self.attempts.is_empty() && time.poll_unpin(cx).is_pending() {
                    return false;
                }
                let left = end.saturating_sub(self.claims.settler().setup.timer.now());
                self.phase = Phase::Ending(self.sleep(left));
                self.cut_off();
                true
            }
            Phase::Ending(time) => {
                let over = time.poll_unpin(cx).is_ready() && !self.is_over();
                if over {
                    self.give_up();
                }
                over
            }
        }
    }

    fn poll_claims(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while self.attempts.has_room() {
            match self.claims.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(claim))) => self.attempts.start(claim),
                // It is in the trace and the monitor shows it; it may be mended while the pipeline goes on.
                Poll::Ready(Some(Err(_))) => {}
                Poll::Ready(None) | Poll::Pending => return moved,
            }
            moved = true;
        }
        moved | self.claims.poll_fill(cx)
    }

    /// Begins the orderly end.
    fn drain(&mut self) {
        let setup = &self.claims.settler().setup;
        let time = setup.config.drain;
        let end = setup.timer.now().saturating_add(time).saturating_add(Self::LAST_WRITES);
        tracing::debug!(queue = %self.claims.queue(), running = self.attempts.running(), "told to stop");
        self.claims.health().stopping();
        self.phase = Phase::Draining(self.sleep(time), end);
        self.claims.stop();
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let timer = Arc::clone(&self.claims.settler().setup.timer);
        async move { timer.sleep(time).await }.boxed()
    }

    /// Waits no longer for a store that does not answer, or that refuses the settlements.
    fn give_up(&mut self) {
        tracing::warn!(queue = %self.claims.queue(), settlements = self.settlements.len(), "the pipeline ends without the store's answer to its last settlements");
        self.settlements.clear();
        self.claims.abandon();
        self.phase = Phase::Over;
    }

    /// Ends the attempts that have used up the drain time.
    fn cut_off(&mut self) {
        for handle in self.attempts.stop_all() {
            self.settle(handle, Verdict::nack("stopped at shutdown"), DeadLetterClass::Failed, &[]);
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.claims.health().ended();
    }
}
