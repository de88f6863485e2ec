use std::{
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use claimstream_domain::{
    ByteBudget, ClaimId, ClaimRequest, Claimed, Disposition, Found, Next, Pace, QueueName, Settlement,
};
use claimstream_ports::{StoreError, Wakeup};
use futures::{
    FutureExt,
    future::{BoxFuture, Either, select},
};
use tracing::Instrument;

use crate::{
    Operation, RelayError,
    holdings::{Holdings, Ticket},
    pipeline_monitor::Health,
    setup::Setup,
};

/// Claims for one stream: waits for room, claims, paces, and begins again, until it is told to stop.
///
/// A claim call that has been sent is not dropped for a wait or a stop; what it brings would stay leased to nobody. It is
/// given up when its lease has passed, because nothing that it brings is of use then.
pub(crate) struct Intake {
    setup: Arc<Setup>,
    holdings: Arc<Holdings>,
    queue: QueueName,
    health: Arc<Health>,
    stage: Stage,
    pace: Pace,
    /// Hears wakeups, from before the newest claim was sent.
    ear: Option<Ear>,
    /// Whether a wakeup led to the newest claim.
    woken: bool,
    /// How many claims in a row followed wakeups and brought nothing.
    in_vain: u32,
    stopping: bool,
}

/// Ends with the next wakeup.
type Ear = BoxFuture<'static, ()>;

/// What a claim call brought.
pub(crate) type Haul = Vec<(Ticket, Claimed)>;

enum Stage {
    /// To claim as soon as there is room.
    Ready,
    /// Waiting for the answer to a claim call.
    Claiming(Call),
    /// Waiting as the pacing says; gives the ear back unless a wakeup cut it short.
    Waiting(BoxFuture<'static, Option<Ear>>),
    /// At an end.
    Stopped,
}

/// Claims. A call that takes longer than `bound` is given up, and what it brings after all goes back: nobody can rely on it any
/// more, and nobody had begun with it.
async fn claimed_within(
    bound: Duration,
    setup: Arc<Setup>,
    request: ClaimRequest,
) -> Result<Vec<Claimed>, StoreError> {
    let strategy = Arc::clone(&setup.strategy);
    let call = async move { strategy.claim(&request).await }.boxed();
    match select(call, setup.timer.sleep(bound)).await {
        Either::Left((answer, _)) => answer,
        Either::Right(((), late)) => {
            setup.timer.run_beside(give_back_late(Arc::clone(&setup), late).boxed());
            Err(setup.unanswered(bound, "claim"))
        }
    }
}

/// Gives back what a call brings that nobody waits for any more; a store that is away is asked for a lease.
async fn give_back_late(setup: Arc<Setup>, late: impl Future<Output = Result<Vec<Claimed>, StoreError>>) {
    let claims = late.await.unwrap_or_default();
    let returned =
        |claimed: Claimed| Settlement { receipt: claimed.receipt, disposition: Disposition::Returned };
    let returned: Vec<_> = claims.into_iter().map(returned).collect();
    if returned.is_empty() {
        return;
    }
    let (end, mut pace) = (setup.timer.now() + setup.config.lease.duration(), Pace::default());
    loop {
        let given_back = setup.settlements.settle(&returned).await;
        tracing::warn!(
            count = returned.len(),
            given_back = given_back.is_ok(),
            "the store answered a claim after its lease; giving its messages back"
        );
        if given_back.is_ok() || setup.timer.now() >= end {
            return;
        }
        let wait;
        (pace, wait) = setup.wait_after_failure(pace);
        setup.timer.sleep(wait).await;
    }
}

/// A claim call under way.
struct Call {
    claim: ClaimId,
    asked: usize,
    budget: ByteBudget,
    sent: Duration,
    answer: BoxFuture<'static, Result<Vec<Claimed>, StoreError>>,
}

impl Intake {
    pub(crate) fn new(setup: Arc<Setup>, holdings: Arc<Holdings>, queue: QueueName) -> Self {
        let (stage, pace) = (Stage::Ready, Pace::default());
        let health = Arc::new(Health::new(Arc::clone(&setup.timer)));
        Self {
            setup,
            holdings,
            queue,
            health,
            stage,
            pace,
            ear: None,
            woken: false,
            in_vain: 0,
            stopping: false,
        }
    }

    /// The next messages that are claimed, or an error that no repetition helps against.
    ///
    /// A `hungry` stream has nothing left to yield and takes whatever there is room for; otherwise a claim waits until at
    /// least half a batch has room, so that a call is worth its way.
    pub(crate) fn poll_haul(&mut self, cx: &mut Context<'_>, hungry: bool) -> Poll<Result<Haul, RelayError>> {
        loop {
            match &mut self.stage {
                Stage::Ready if self.stopping => self.stage = Stage::Stopped,
                Stage::Ready => {
                    let (asked, budget) = ready!(self.poll_room(cx, hungry));
                    self.listen(cx);
                    self.stage = Stage::Claiming(self.call(asked, budget));
                }
                Stage::Claiming(call) => {
                    let answer = ready!(call.answer.poll_unpin(cx));
                    let Call { claim, asked, budget, sent, .. } = *call;
                    return Poll::Ready(self.conclude(claim, asked, budget, sent, answer));
                }
                Stage::Waiting(wait) => {
                    self.ear = ready!(wait.poll_unpin(cx));
                    self.woken = self.setup.wakeup.is_some() && self.ear.is_none();
                    self.stage = Stage::Ready;
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

    /// How its claims fare.
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

    fn poll_room(&self, cx: &mut Context<'_>, hungry: bool) -> Poll<(usize, ByteBudget)> {
        let config = &self.setup.config;
        let batch = config.batch.min(config.prefetch) as usize;
        let least = if hungry { 1 } else { batch.div_ceil(2) };
        self.holdings.poll_room(cx, least, batch)
    }

    fn call(&self, asked: usize, budget: ByteBudget) -> Call {
        let claim = self.setup.fresh_claim_id();
        let request = ClaimRequest {
            queue: self.queue.clone(),
            limit: asked as u32,
            budget,
            lease: self.setup.config.lease,
            claim,
            owner: self.setup.owner.clone(),
        };
        let span = tracing::debug_span!("claim", queue = %self.queue, %claim, asked);
        let setup = Arc::clone(&self.setup);
        let sent = setup.timer.now();
        let bound = setup.term(sent).deadline - sent;
        let answer = claimed_within(bound, setup, request).instrument(span).boxed();
        Call { claim, asked, budget, sent, answer }
    }

    /// Takes the answer to a call in and decides what follows it.
    fn conclude(
        &mut self,
        claim: ClaimId,
        asked: usize,
        budget: ByteBudget,
        sent: Duration,
        answer: Result<Vec<Claimed>, StoreError>,
    ) -> Result<Haul, RelayError> {
        self.rest(self.found(&answer, asked, budget));
        let (claims, judged) = match answer {
            Ok(claims) => {
                tracing::debug!(queue = %self.queue, %claim, asked, found = claims.len(), "claimed");
                self.health.answered();
                (claims, Ok(()))
            }
            Err(error) => (Vec::new(), self.judge(claim, error)),
        };
        let haul = self.holdings.take_in(asked, self.setup.term(sent), claims);
        judged.map(|()| haul)
    }

    /// Lets an error that passes by itself pass.
    fn judge(&self, claim: ClaimId, error: StoreError) -> Result<(), RelayError> {
        let (passes, source) = (error.is_retryable(), Arc::new(error));
        if passes {
            tracing::warn!(queue = %self.queue, %claim, error = %source, "the claim failed; it is tried again");
        } else {
            tracing::error!(queue = %self.queue, %claim, error = %source, "the claim failed; it is tried again");
        }
        let error = RelayError::Store { operation: Operation::Claim, queue: self.queue.clone(), source };
        self.health.failed(error.clone());
        if passes { Ok(()) } else { Err(error) }
    }

    /// What a call brought. Messages that were given back come again at once, so a call after which some were counts as
    /// one in vain: whoever gave them back wants a rest.
    fn found(&self, answer: &Result<Vec<Claimed>, StoreError>, asked: usize, budget: ByteBudget) -> Found {
        let given_back = self.holdings.take_given_back();
        match answer {
            Err(_) => Found::Failed,
            Ok(claims) if claims.is_empty() || given_back => Found::Nothing,
            Ok(claims) if claims.len() < asked && !is_heavy(claims, budget) => Found::Some,
            Ok(_) => Found::Full,
        }
    }

    fn rest(&mut self, found: Found) {
        let (pace, next) = self.setup.pace(self.pace, found);
        self.pace = pace;
        self.in_vain = if self.woken && found == Found::Nothing { self.in_vain.saturating_add(1) } else { 0 };
        self.stage = match next {
            _ if self.stopping => Stage::Stopped,
            Next::ClaimNow => Stage::Ready,
            Next::Wait(wait) => Stage::Waiting(self.wait(found, wait)),
        };
        self.woken = false;
    }

    /// Begins to hear wakeups before a claim is sent: what was rung earlier is answered by this claim, what is rung while it is
    /// under way is not, and is heard after it.
    fn listen(&mut self, cx: &mut Context<'_>) {
        let Some(wakeup) = &self.setup.wakeup else { return };
        if self.ear.as_mut().is_some_and(|ear| ear.poll_unpin(cx).is_pending()) {
            return;
        }
        let mut ear = ear_on(wakeup, &self.queue);
        // The first may end at once with a wakeup that nobody has waited for.
        if ear.poll_unpin(cx).is_ready() {
            ear = ear_on(wakeup, &self.queue);
            if ear.poll_unpin(cx).is_ready() {
                ear = async {}.boxed();
            }
        }
        self.ear = Some(ear);
    }

    /// Waits, until a wakeup at the longest. Wakeups are put off where they have led to claims in vain for several times, and
    /// after an error.
    fn wait(&mut self, found: Found, wait: Duration) -> BoxFuture<'static, Option<Ear>> {
        let timer = Arc::clone(&self.setup.timer);
        let Some(ear) = self.ear.take() else {
            return async move { timer.sleep(wait).map(|()| None).await }.boxed();
        };
        let pacing = &self.setup.config.pacing;
        let deaf = match found {
            Found::Failed => wait,
            _ => pacing.wakeup_delay(self.in_vain),
        };
        let deaf = deaf.min(wait);
        async move {
            if !deaf.is_zero() {
                timer.sleep(deaf).await;
            }
            match select(ear, timer.sleep(wait - deaf)).await {
                Either::Left(_) => None,
                Either::Right((_, ear)) => Some(ear),
            }
        }
        .boxed()
    }
}

fn ear_on(wakeup: &Arc<dyn Wakeup>, queue: &QueueName) -> Ear {
    let (wakeup, queue) = (Arc::clone(wakeup), queue.clone());
    async move { wakeup.wait(&queue).await }.boxed()
}

/// Whether it may have been the payloads that there was no more room for.
fn is_heavy(claims: &[Claimed], budget: ByteBudget) -> bool {
    let bytes: usize = claims.iter().map(|claimed| claimed.message.payload.bytes().len()).sum();
    bytes >= budget.bytes() / 2
}
