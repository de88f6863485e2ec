use std::{sync::Arc, task::Context, time::Duration};

use claimstream_domain::{Found, Pacing, QueueName};
use claimstream_ports::{Timer, Wakeup};
use futures::{
    FutureExt,
    future::{BoxFuture, Either, select},
};

/// Listens for wakeups of one queue, so that none is missed that comes during a claim.
pub(crate) struct WakeupListener {
    wakeup: Option<Arc<dyn Wakeup>>,
    queue: QueueName,
    /// Listens, from before the newest claim was sent.
    listening: Option<Listening>,
    /// Whether a wakeup led to the newest claim.
    woken: bool,
    /// How many claims in a row followed wakeups and brought nothing.
    in_vain: u32,
}

/// Ends with the next wakeup.
pub(crate) type Listening = BoxFuture<'static, ()>;

impl WakeupListener {
    pub(crate) fn new(wakeup: Option<Arc<dyn Wakeup>>, queue: QueueName) -> Self {
        Self { wakeup, queue, listening: None, woken: false, in_vain: 0 }
    }

    /// Begins to listen before a claim is sent: an earlier wakeup is answered by this claim, one that comes while it is
    /// under way is not, and is noticed after it.
    pub(crate) fn listen(&mut self, cx: &mut Context<'_>) {
        let Some(wakeup) = &self.wakeup else { return };
        if self.listening.as_mut().is_some_and(|listening| listening.poll_unpin(cx).is_pending()) {
            return;
        }
        let mut listening = listen_to(wakeup, &self.queue);
        // The first may end at once with a wakeup that no wait has taken.
        if listening.poll_unpin(cx).is_ready() {
            listening = listen_to(wakeup, &self.queue);
            if listening.poll_unpin(cx).is_ready() {
                listening = async {}.boxed();
            }
        }
        self.listening = Some(listening);
    }

    /// Notes what the newest claim brought.
    pub(crate) fn claimed(&mut self, found: Found) {
        self.in_vain = if self.woken && found == Found::Nothing { self.in_vain.saturating_add(1) } else { 0 };
        self.woken = false;
    }

    /// Waits, until a wakeup at the longest. Wakeups are put off where they have led to empty claims several times, and
    /// after an error. The answer is for [`waited`](Self::waited).
    pub(crate) fn wait(
        &mut self,
        timer: Arc<dyn Timer>,
        pacing: &Pacing,
        found: Found,
        wait: Duration,
    ) -> BoxFuture<'static, Option<Listening>> {
        let Some(listening) = self.listening.take() else {
            return async move { timer.sleep(wait).map(|()| None).await }.boxed();
        };
        let deaf = match found {
            Found::Failed => wait,
            _ => pacing.wakeup_delay(self.in_vain),
        };
        let deaf = deaf.min(wait);
        async move {
            if !deaf.is_zero() {
                timer.sleep(deaf).await;
            }
            match select(listening, timer.sleep(wait - deaf)).await {
                Either::Left(_) => None,
                Either::Right((_, listening)) => Some(listening),
            }
        }
        .boxed()
    }

    /// Notes how a [`wait`](Self::wait) ended: without `listening` if a wakeup cut it short.
    pub(crate) fn waited(&mut self, listening: Option<Listening>) {
        self.listening = listening;
        self.woken = self.wakeup.is_some() && self.listening.is_none();
    }
}

fn listen_to(wakeup: &Arc<dyn Wakeup>, queue: &QueueName) -> Listening {
    let (wakeup, queue) = (Arc::clone(wakeup), queue.clone());
    async move { wakeup.wait(&queue).await }.boxed()
}
