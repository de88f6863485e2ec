use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::{
    ByteBudget, ClaimId, ClaimRequest, Claimed, Disposition, Pace, QueueName, Settlement, StreamId,
};
use claimstream_ports::{StoreError, StoreErrorKind};
use futures::{
    FutureExt, StreamExt,
    future::{BoxFuture, Either, select},
    stream::FuturesUnordered,
};
use tracing::Instrument;

use crate::setup::Setup;

/// A claim call under way.
///
/// It is not dropped for a wait or a stop, because what it brings would stay leased without a holder. It is given up when its lease
/// has passed, because nothing that it brings is of use then.
pub(crate) struct ClaimCall {
    asked: Asked,
    /// A set of one: the stream is polled for each message that it yields, and a set asks only a future that was woken.
    answer: FuturesUnordered<BoxFuture<'static, ClaimAnswer>>,
}

/// What a claim call asks for.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) claim: ClaimId,
    /// The most messages.
    pub(crate) limit: usize,
    /// The most bytes of payloads.
    pub(crate) budget: ByteBudget,
    /// When it was sent, on the timer's clock.
    pub(crate) sent: Duration,
}

pub(crate) type ClaimAnswer = Result<Vec<Claimed>, StoreError>;

impl ClaimCall {
    pub(crate) fn send(
        setup: &Arc<Setup>,
        queue: &QueueName,
        (limit, budget): (usize, ByteBudget),
        runs: Option<StreamId>,
    ) -> Self {
        let claim = setup.fresh_claim_id();
        let request = ClaimRequest {
            queue: queue.clone(),
            limit: limit as u32,
            budget,
            lease: setup.config.lease,
            claim,
            owner: setup.owner.clone(),
            runs,
        };
        let span = tracing::debug_span!("claim", %queue, %claim, asked = limit);
        let sent = setup.timer.now();
        let bound = setup.times(sent).deadline - sent;
        let answer = claimed_within(bound, Arc::clone(setup), request).instrument(span).boxed();
        let answer = FuturesUnordered::from_iter([answer]);
        Self { asked: Asked { claim, limit, budget, sent }, answer }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(Asked, ClaimAnswer)> {
        match self.answer.poll_next_unpin(cx) {
            Poll::Ready(Some(answer)) => Poll::Ready((self.asked, answer)),
            // The call has panicked, and its caller caught that and polls on: it has no answer.
            Poll::Ready(None) => Poll::Ready((self.asked, Err(self.panicked()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn panicked(&self) -> StoreError {
        StoreError::new(StoreErrorKind::Unavailable, "claim", "the call to the store has panicked")
    }
}

/// Claims. A call that takes longer than `bound` is given up, and what it brings after all goes back: no caller can rely on it any
/// more, and no handler has begun with it.
async fn claimed_within(bound: Duration, setup: Arc<Setup>, request: ClaimRequest) -> ClaimAnswer {
    let strategy = Arc::clone(&setup.strategy);
    let call = async move { strategy.claim(&request).await }.boxed();
    match select(call, setup.timer.sleep(bound)).await {
        Either::Left((answer, _)) => answer,
        Either::Right(((), late)) => {
            setup.timer.spawn(give_back_late(Arc::clone(&setup), late).boxed());
            Err(setup.unanswered(bound, "claim"))
        }
    }
}

/// Gives back what a call brings that no caller waits for any more; a store that is away is asked for a lease.
async fn give_back_late(setup: Arc<Setup>, late: impl Future<Output = ClaimAnswer>) {
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
