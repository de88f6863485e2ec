use std::{
    collections::BTreeMap,
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::{Settled, Verdict};
use claimstream_ports::Handler;
use futures::{
    FutureExt, StreamExt,
    future::{AbortHandle, BoxFuture},
    stream::FuturesUnordered,
};

use crate::{
    Claim, Claims, DeadLetterClass, PipelineReport, RelayError,
    attempt::{Ended, attempt},
    hold::Hold,
    holdings::Ticket,
    keeper::Keeper,
    ration::{Ration, Rationed},
    time_limit::TimeLimit,
};

/// One run of a pipeline: everything that is under way in it.
pub(crate) struct Run {
    handler: Arc<dyn Handler>,
    concurrency: usize,
    claims: Claims,
    keeper: Keeper,
    attempts: FuturesUnordered<Rationed<(Ticket, Ended)>>,
    attempts_ration: Ration,
    /// What the running attempts are about, the oldest first.
    running: BTreeMap<Ticket, Running>,
    time_limit: TimeLimit,
    settlements: FuturesUnordered<Rationed<Result<Settled, RelayError>>>,
    settlements_ration: Ration,
    phase: Phase,
    panicked: u64,
    timed_out: u64,
}

struct Running {
    hold: Hold,
    stop: AbortHandle,
    /// When it has to be over.
    end: Duration,
}

enum Phase {
    /// Claiming and handling.
    Working,
    /// Told to stop; running handlers may finish in this time. All is over at the moment that is named.
    Draining(BoxFuture<'static, ()>, Duration),
    /// No handler runs any longer; what is to be written may be written in this time.
    Ending(BoxFuture<'static, ()>),
    /// What has not been written is given up.
    Over,
}

impl Run {
    /// How often everything is looked at before the executor gets its turn, however much there is to do.
    const TURNS: usize = 64;
    /// How long after the drain time settlements may still be written.
    const LAST_WRITES: Duration = Duration::from_secs(2);

    pub(crate) fn new(claims: Claims, handler: Arc<dyn Handler>, concurrency: usize) -> Self {
        let setup = &claims.settler().setup;
        let time_limit = TimeLimit::new(Arc::clone(&setup.timer), setup.config.handle_timeout);
        Self {
            handler,
            concurrency,
            time_limit,
            keeper: Keeper::new(Arc::clone(claims.settler())),
            claims,
            attempts: FuturesUnordered::new(),
            attempts_ration: Ration::default(),
            running: BTreeMap::new(),
            settlements: FuturesUnordered::new(),
            settlements_ration: Ration::default(),
            phase: Phase::Working,
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
            let mut moved = self.poll_keeper(cx);
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
        PipelineReport { panicked, timed_out, ..self.claims.settler().holdings.tally() }
    }

    fn is_over(&self) -> bool {
        let ended = self.settlements.is_empty() && self.claims.is_stopped();
        matches!(self.phase, Phase::Ending(_)) && ended || matches!(self.phase, Phase::Over)
    }

    fn poll_keeper(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Poll::Ready(lost) = self.keeper.poll_lost(cx) {
            lost.into_iter().for_each(|ticket| self.lose(ticket));
            moved = true;
        }
        moved
    }

    /// Stops the attempt at a message that is no longer ours.
    fn lose(&mut self, ticket: Ticket) {
        if let Some(Running { hold, stop, .. }) = self.running.remove(&ticket) {
            tracing::warn!(queue = %self.claims.queue(), message_id = %hold.message(), "lease lost, handler stopped");
            stop.abort();
            self.settlements.push(self.settlements_ration.of(hold.lose().boxed()));
        }
    }

    fn poll_time_limit(&mut self, cx: &mut Context<'_>) -> bool {
        let first = self.running.values().next().map(|running| running.end);
        let Poll::Ready(now) = self.time_limit.poll_over(cx, first) else { return false };
        while let Some(oldest) = self.running.first_entry().filter(|oldest| oldest.get().end <= now) {
            let running = oldest.remove();
            self.time_out(running);
        }
        true
    }

    /// Stops a handler that has had all its time; its attempt has failed.
    fn time_out(&mut self, Running { hold, stop, .. }: Running) {
        let limit = self.time_limit.limit();
        let (queue, message_id) = (self.claims.queue(), hold.message());
        tracing::warn!(%queue, %message_id, ?limit, "handler timed out and was stopped");
        stop.abort();
        self.timed_out += 1;
        let verdict = Verdict::nack(format_args!("no verdict within {limit:?}"));
        self.settle(hold, verdict, DeadLetterClass::TimedOut);
    }

    fn poll_attempts(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        self.attempts_ration.refill();
        while let Poll::Ready(Some((ticket, ended))) = self.attempts.poll_next_unpin(cx) {
            self.ended(ticket, ended);
            moved = true;
        }
        moved
    }

    fn ended(&mut self, ticket: Ticket, ended: Ended) {
        // Whatever it came to, a claim that was lost meanwhile is not ours to settle.
        let Some(Running { hold, .. }) = self.running.remove(&ticket) else { return };
        match ended {
            Ended::Verdict(verdict) => {
                let class = DeadLetterClass::of(&verdict);
                self.settle(hold, verdict, class);
            }
            Ended::Panicked(verdict) => {
                tracing::error!(queue = %self.claims.queue(), message_id = %hold.message(), "handler panicked");
                self.panicked += 1;
                self.settle(hold, verdict, DeadLetterClass::Panicked);
            }
            Ended::Stopped => {}
        }
    }

    fn settle(&mut self, hold: Hold, verdict: Verdict, class: DeadLetterClass) {
        self.settlements.push(self.settlements_ration.of(hold.settle_as(verdict, class).boxed()));
    }

    fn poll_settlements(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        self.settlements_ration.refill();
        // Their outcomes are in the books, and in the trace where they failed.
        while let Poll::Ready(Some(_)) = self.settlements.poll_next_unpin(cx) {
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
        while self.attempts.len() < self.concurrency {
            match self.claims.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(claim))) => self.start(claim),
                // It is in the trace and the monitor shows it; it may be mended while the pipeline goes on.
                Poll::Ready(Some(Err(_))) => {}
                Poll::Ready(None) | Poll::Pending => return moved,
            }
            moved = true;
        }
        moved | self.claims.poll_fill(cx)
    }

    fn start(&mut self, claim: Claim) {
        let (claimed, hold) = claim.into_parts();
        let (stop, registration) = AbortHandle::new_pair();
        let ticket = hold.ticket();
        let attempt = attempt(Arc::clone(&self.handler), ticket, claimed, registration).boxed();
        self.attempts.push(self.attempts_ration.of(attempt));
        self.running.insert(ticket, Running { hold, stop, end: self.time_limit.end() });
    }

    /// Begins the orderly end.
    fn drain(&mut self) {
        let setup = &self.claims.settler().setup;
        let time = setup.config.drain;
        let end = setup.timer.now().saturating_add(time).saturating_add(Self::LAST_WRITES);
        tracing::debug!(queue = %self.claims.queue(), running = self.running.len(), "told to stop");
        self.claims.health().stopping();
        self.phase = Phase::Draining(self.sleep(time), end);
        self.claims.stop();
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let timer = Arc::clone(&self.claims.settler().setup.timer);
        async move { timer.sleep(time).await }.boxed()
    }

    /// Waits no longer for a store that does not answer, or that refuses what is to be written.
    fn give_up(&mut self) {
        tracing::warn!(queue = %self.claims.queue(), settlements = self.settlements.len(), "the pipeline ends without the store's answer to its last settlements");
        self.settlements.clear();
        self.claims.abandon();
        self.phase = Phase::Over;
    }

    /// Ends the attempts that have used up the drain time.
    fn cut_off(&mut self) {
        self.attempts.clear();
        for (_, Running { hold, .. }) in mem::take(&mut self.running) {
            tracing::warn!(queue = %self.claims.queue(), message_id = %hold.message(), "stopped at shutdown");
            self.settle(hold, Verdict::nack("stopped at shutdown"), DeadLetterClass::Failed);
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.claims.health().ended();
    }
}
