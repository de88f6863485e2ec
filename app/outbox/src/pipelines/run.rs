use std::{
    future::{Future, poll_fn},
    mem,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_ports::Measured;
use futures::{FutureExt, future::BoxFuture};

use super::{
    ended_attempt::EndedAttempt,
    engine::{CutShort, Engine},
    failed_attempts::{Attempt, FailedAttempts},
    future_set::FutureSet,
};
use crate::{
    in_flight::Ticket,
    renew::Renewer,
    report::PipelineReport,
    settle::{Ending, end_together},
    setup::sleep,
    stream::Claims,
};

/// One run of a pipeline: everything that is under way in it.
pub(crate) struct Run {
    claims: Claims,
    renewer: Renewer,
    engine: Engine,
    /// Claims that end in this turn.
    endings: Vec<Ending>,
    settlements: FutureSet<()>,
    phase: Phase,
    failed_attempts: FailedAttempts,
}

enum Phase {
    /// Claiming and handling.
    Working,
    /// Asked to stop; running handlers may finish in this time. All is over at the moment that is named.
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

    pub(crate) fn new(claims: Claims, engine: Engine) -> Self {
        let setup = &claims.settler().setup;
        let failed_attempts = FailedAttempts::new(claims.queue().clone(), setup.config.retry.max_attempts);
        Self {
            renewer: {
                let settler = claims.settler();
                Renewer::new(&settler.setup, &settler.open_claims, &settler.queue)
            },
            claims,
            engine,
            endings: Vec::new(),
            settlements: FutureSet::new(),
            phase: Phase::Working,
            failed_attempts,
        }
    }

    /// Runs until all is done after `shutdown`, and says what became of the messages.
    pub(crate) async fn until(mut self, shutdown: impl Future<Output = ()>) -> PipelineReport {
        let mut shutdown = pin!(shutdown);
        self.claims.health().started();
        poll_fn(|cx| self.poll(cx, shutdown.as_mut())).await;
        self.report()
    }

    fn poll<S: Future<Output = ()>>(&mut self, cx: &mut Context<'_>, mut shutdown: Pin<&mut S>) -> Poll<()> {
        self.claims.health().polled();
        for _ in 0..Self::TURNS {
            if matches!(self.phase, Phase::Working) && shutdown.as_mut().poll(cx).is_ready() {
                self.drain();
            }
            let mut moved = self.poll_renewer(cx);
            moved |= self.poll_attempts(cx);
            moved |= self.poll_phase(cx);
            // Only when nothing else moves, so that as many settlements as possible are written together.
            moved = moved || self.poll_settlements(cx) || self.claims.has_freed();
            if !moved {
                return if self.is_over() { Poll::Ready(()) } else { Poll::Pending };
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn report(&self) -> PipelineReport {
        let CutShort { panicked, timed_out } = self.engine.cut_short();
        PipelineReport { panicked, timed_out, ..self.claims.settler().open_claims.tally() }
    }

    fn is_over(&self) -> bool {
        let ended = self.settlements.is_empty() && self.endings.is_empty() && self.claims.is_stopped();
        matches!(self.phase, Phase::Ending(_)) && ended || matches!(self.phase, Phase::Over)
    }

    fn poll_renewer(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(lost) = self.renewer.poll_lost(cx) {
            self.lose(&lost);
            moved = true;
        }
        moved
    }

    /// Stops the attempts at messages that are no longer ours.
    fn lose(&mut self, lost: &[Ticket]) {
        for handle in self.engine.lose(lost) {
            let queue = self.claims.queue();
            tracing::warn!(%queue, message_id = %handle.message(), "lease lost, handler stopped");
            self.claims.settler().setup.measure(Measured::LeasesLost { queue, messages: 1 });
            self.settlements.push(handle.lose().map(drop).boxed());
        }
    }

    fn poll_attempts(&mut self, cx: &mut Context<'_>) -> bool {
        let mut ended = Vec::new();
        let moved = self.engine.poll_ended(cx, &mut ended);
        ended.into_iter().for_each(|attempt| self.settle(attempt));
        moved
    }

    /// Ends a claim together with the others that end in this turn.
    fn settle(&mut self, attempt: EndedAttempt) {
        self.measure(&attempt);
        let EndedAttempt { handle, verdict, class, reason_source, .. } = attempt;
        let disposition = handle.decide(verdict);
        let (message, number, payload) = (handle.message(), handle.attempt(), reason_source.payload());
        let attempt = Attempt { message, number, disposition: &disposition, class, payload };
        self.failed_attempts.note(&attempt, self.claims.settler().setup.timer.now());
        self.endings.push(Ending { handle, disposition, class });
    }

    /// Notes how the handler came to an end.
    fn measure(&self, attempt: &EndedAttempt) {
        let (setup, queue) = (&self.claims.settler().setup, self.claims.queue());
        if let Some(began) = attempt.began {
            let (outcome, took) = (attempt.outcome(), setup.since(began));
            setup.measure(Measured::Handled { queue, outcome, took });
        }
    }

    fn poll_settlements(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        if !self.endings.is_empty() {
            let endings = mem::take(&mut self.endings);
            let ended = end_together(Arc::clone(self.claims.settler()), endings);
            self.settlements.push(ended.map(drop).boxed());
        }
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
                if !self.engine.is_empty() && time.poll_unpin(cx).is_pending() {
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
        let moved = self.engine.poll_start(cx, &mut self.claims);
        moved | self.claims.poll_fill(cx)
    }

    /// Begins the orderly end.
    fn drain(&mut self) {
        let setup = &self.claims.settler().setup;
        let time = setup.config.drain;
        let end = setup.timer.now().saturating_add(time).saturating_add(Self::LAST_WRITES);
        tracing::debug!(queue = %self.claims.queue(), running = self.engine.in_flight(), "stopping");
        self.claims.health().stopping();
        self.phase = Phase::Draining(self.sleep(time), end);
        self.engine.start_no_more();
        self.claims.stop();
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        sleep(&self.claims.settler().setup.timer, time)
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
        let mut ended = Vec::new();
        let stopped = self.engine.stop_all(&mut ended);
        let stopped = stopped.into_iter().map(EndedAttempt::at_shutdown);
        ended.into_iter().chain(stopped).for_each(|attempt| self.settle(attempt));
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.claims.health().ended();
    }
}
