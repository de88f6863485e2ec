use std::{
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use claimstream_domain::{ByteBudget, ClaimId, Claimed, Found, Next, Pace, QueueName, StreamId};
use claimstream_ports::{Measured, StoreCall, StoreError};
use futures::{FutureExt, future::BoxFuture};

use super::claim_call::{Asked, ClaimAnswer, ClaimCall};
use crate::{
    error::{Operation, RelayError},
    in_flight::{OpenClaims, Ticket},
    order::FetchMode,
    report::{Health, LogLimit},
    setup::Setup,
    wakeup::{Listening, WakeupListener},
};

/// Claims for one stream: waits for room, claims, paces, and begins again, until it is stopped.
pub(crate) struct Claimer {
    setup: Arc<Setup>,
    open_claims: Arc<OpenClaims>,
    queue: QueueName,
    stream: StreamId,
    health: Arc<Health>,
    stage: Stage,
    pace: Pace,
    listener: WakeupListener,
    stopping: bool,
    /// Whether runs were asked for last, and no wait came after.
    took_runs: bool,
    /// Whether the wait that is under way is for a claim of one message of each key.
    may_be_cut: bool,
    /// Which failures are logged: of those that pass by themselves, and of the others.
    limits: [LogLimit; 2],
}

/// What a claim call brought.
pub(crate) type NewClaims = Vec<(Ticket, Claimed)>;

/// For how many messages there must be room before a claim is worth its way.
#[derive(Clone, Copy)]
pub(crate) enum Least {
    /// For one: the stream has nothing left to yield.
    One,
    /// For half a batch.
    HalfBatch,
}

enum Stage {
    /// To claim as soon as there is room.
    Ready,
    /// Waiting for the answer to a claim call.
    Claiming(ClaimCall),
    /// Waiting as the pacing says; gives back the listener unless one cut it short.
    Waiting(BoxFuture<'static, Option<Listening>>),
    /// At an end.
    Stopped,
}

impl Claimer {
    pub(crate) fn new(
        setup: Arc<Setup>,
        open_claims: Arc<OpenClaims>,
        queue: QueueName,
        health: Arc<Health>,
    ) -> Self {
        Self {
            stream: setup.fresh_stream_id(),
            health,
            listener: WakeupListener::new(setup.wakeup.clone(), queue.clone()),
            setup,
            open_claims,
            queue,
            stage: Stage::Ready,
            pace: Pace::default(),
            stopping: false,
            took_runs: false,
            may_be_cut: false,
            limits: [1, 1].map(LogLimit::new),
        }
    }

    /// The next messages that are claimed, or an error that no repetition helps against.
    pub(crate) fn poll_claims(
        &mut self,
        cx: &mut Context<'_>,
        least: Least,
        mode: FetchMode,
    ) -> Poll<Result<NewClaims, RelayError>> {
        loop {
            match &mut self.stage {
                Stage::Ready if self.stopping => self.stage = Stage::Stopped,
                Stage::Ready if self.took_runs && mode == FetchMode::OneOfAKey => self.wait_for_runs(),
                Stage::Ready => {
                    let room = ready!(self.poll_room(cx, least, mode));
                    self.listener.listen(cx);
                    self.took_runs = mode != FetchMode::OneOfAKey;
                    let runs = self.took_runs.then_some(self.stream);
                    let call = ClaimCall::send(&self.setup, &self.queue, room, runs);
                    self.stage = Stage::Claiming(call);
                }
                Stage::Claiming(call) => {
                    let (asked, answer) = ready!(call.poll(cx));
                    return Poll::Ready(self.conclude(asked, answer));
                }
                Stage::Waiting(_) if self.may_be_cut && mode != FetchMode::OneOfAKey => self.end_wait(),
                Stage::Waiting(wait) => {
                    self.listener.waited(ready!(wait.poll_unpin(cx)));
                    self.end_wait();
                }
                Stage::Stopped => return Poll::Pending,
            }
        }
    }

    /// Claims no more. A call that is under way is still waited for.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        if matches!(self.stage, Stage::Ready | Stage::Waiting(_)) {
            self.stage = Stage::Stopped;
        }
    }

    /// Claims no more, and waits for no call.
    pub(crate) fn abandon(&mut self) {
        self.stopping = true;
        self.stage = Stage::Stopped;
    }

    /// How the stream fares.
    pub(crate) fn health(&self) -> &Arc<Health> {
        &self.health
    }

    pub(crate) fn is_claiming(&self) -> bool {
        matches!(self.stage, Stage::Claiming(_))
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping
    }

    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.stage, Stage::Stopped)
    }

    /// Waits a moment before it claims one message of each key. Such a claim reads on behind all that waits of the keys in hand, and
    /// a quick key soon has room for more of its own.
    fn wait_for_runs(&mut self) {
        let (timer, pacing) = (Arc::clone(&self.setup.timer), &self.setup.config.pacing);
        self.stage = Stage::Waiting(self.listener.wait(timer, pacing, Found::Some, pacing.idle_min));
        (self.took_runs, self.may_be_cut) = (false, true);
    }

    fn end_wait(&mut self) {
        self.stage = Stage::Ready;
        (self.took_runs, self.may_be_cut) = (false, false);
    }

    fn poll_room(&self, cx: &mut Context<'_>, least: Least, mode: FetchMode) -> Poll<(usize, ByteBudget)> {
        let config = &self.setup.config;
        let batch = config.batch.min(config.prefetch) as usize;
        let least = match least {
            Least::One => 1,
            Least::HalfBatch => batch.div_ceil(2),
        };
        let FetchMode::KeyGroups(most) = mode else { return self.open_claims.poll_room(cx, least, batch) };
        let room = self.open_claims.poll_room(cx, least, most.messages);
        room.map(|(limit, budget)| (limit, budget.lowered_to(most.bytes)))
    }

    /// Takes the answer to a call in and decides what follows it.
    fn conclude(&mut self, asked: Asked, answer: ClaimAnswer) -> Result<NewClaims, RelayError> {
        let found = self.found(&answer, asked);
        self.may_be_cut = !self.took_runs && found != Found::Failed;
        self.pause(found);
        let Asked { claim, limit, sent, .. } = asked;
        let (claims, judged) = match answer {
            Ok(claims) => {
                tracing::debug!(queue = %self.queue, %claim, asked = limit, found = claims.len(), "claimed");
                self.health.claim_answered();
                let (queue, messages, took) = (&self.queue, claims.len(), self.setup.since(sent));
                self.setup.measure(Measured::Claimed { queue, messages, took });
                self.measure_waits(&claims);
                (claims, Ok(()))
            }
            Err(error) => {
                self.setup.measure_failure(&self.queue, StoreCall::Claim, sent, &error);
                (Vec::new(), self.judge(claim, sent, error))
            }
        };
        let new = self.open_claims.take_in(limit, self.setup.times(sent), claims);
        judged.map(|()| new)
    }

    /// Notes how long messages waited for a claim, if anything counts it.
    fn measure_waits(&self, claims: &[Claimed]) {
        if self.setup.telemetry.is_none() || claims.is_empty() {
            return;
        }
        let waits: Vec<_> = claims.iter().map(|claimed| claimed.waited).collect();
        self.setup.measure(Measured::Waited { queue: &self.queue, waits: &waits });
    }

    /// Lets an error that passes by itself pass.
    fn judge(&mut self, claim: ClaimId, sent: Duration, error: StoreError) -> Result<(), RelayError> {
        let (passes, source) = (error.is_retryable(), Arc::new(error));
        self.say_failed(claim, &source, passes);
        let error = RelayError::Store { operation: Operation::Claim, queue: self.queue.clone(), source };
        self.health.claim_failed(error.clone(), sent);
        if passes { Ok(()) } else { Err(error) }
    }

    /// Logs the first failure and then few.
    fn say_failed(&mut self, claim: ClaimId, error: &StoreError, passes: bool) {
        let now = self.setup.timer.now();
        let [passing, others] = &mut self.limits;
        let Some(unlogged) = if passes { passing } else { others }.admit(now) else { return };
        let (queue, unlogged) = (&self.queue, unlogged.field());
        match passes {
            true => tracing::warn!(%queue, %claim, %error, unlogged, "the claim failed; it is tried again"),
            false => tracing::error!(%queue, %claim, %error, unlogged, "the claim failed; it is tried again"),
        }
    }

    /// What a call brought. Messages that were given back come again at once, so a call after which some were counts as
    /// one for nothing: a consumer that gives messages back wants a pause.
    fn found(&self, answer: &ClaimAnswer, asked: Asked) -> Found {
        let given_back = self.open_claims.take_given_back();
        match answer {
            Err(_) => Found::Failed,
            Ok(claims) if claims.is_empty() || given_back => Found::Nothing,
            Ok(claims) if claims.len() < asked.limit && !is_heavy(claims, asked.budget) => Found::Some,
            Ok(_) => Found::Full,
        }
    }

    /// Waits before the next claim as long as the pacing says.
    fn pause(&mut self, found: Found) {
        let (pace, next) = self.setup.pace(self.pace, found);
        self.pace = pace;
        self.listener.claimed(found);
        self.stage = match next {
            _ if self.stopping => Stage::Stopped,
            Next::ClaimNow => Stage::Ready,
            Next::Wait(wait) => {
                let (timer, pacing) = (Arc::clone(&self.setup.timer), &self.setup.config.pacing);
                Stage::Waiting(self.listener.wait(timer, pacing, found, wait))
            }
        };
    }
}

/// Whether it may have been the payloads that there was no more room for.
fn is_heavy(claims: &[Claimed], budget: ByteBudget) -> bool {
    let bytes: usize = claims.iter().map(|claimed| claimed.message.payload.bytes().len()).sum();
    bytes >= budget.bytes() / 2
}
