use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::{Pace, QueueName};
use futures::{FutureExt, future::BoxFuture};

use super::call::renew;
use crate::{
    in_flight::{OpenClaims, Renewal, Ticket, Wanted},
    setup::{Setup, sleep},
};

/// Renews the claims of one stream in time, many in one call, and reports which of them are lost.
///
/// It has one timer for all claims, which is set again when a claim comes in that is due earlier than those before it: a
/// claim call counts from when it was sent, however late its answer comes.
pub(crate) struct Renewer {
    setup: Arc<Setup>,
    open_claims: Arc<OpenClaims>,
    queue: QueueName,
    next_look: Option<NextLook>,
    /// How many claims had come in when it last looked.
    taken: u64,
    renewal: Option<Renewal>,
    /// How often in a row a renewal has failed, and until when none is tried.
    pace: Pace,
    not_before: Duration,
}

struct NextLook {
    due: Duration,
    sleep: BoxFuture<'static, ()>,
}

impl Renewer {
    pub(crate) fn new(setup: &Arc<Setup>, open_claims: &Arc<OpenClaims>, queue: &QueueName) -> Self {
        Self {
            setup: Arc::clone(setup),
            open_claims: Arc::clone(open_claims),
            queue: queue.clone(),
            next_look: None,
            taken: 0,
            renewal: None,
            pace: Pace::default(),
            not_before: Duration::ZERO,
        }
    }

    /// The next claims that are lost: another instance has taken the message, or the deadline has passed.
    pub(crate) fn poll_lost(&mut self, cx: &mut Context<'_>) -> Poll<Vec<Ticket>> {
        loop {
            let mut lost = Vec::new();
            let renewed = self.poll_renewal(cx, &mut lost);
            let is_time = self.poll_next_look(cx);
            if !renewed && !is_time {
                return Poll::Pending;
            }
            let now = self.setup.timer.now();
            if self.must_wait(now) {
                self.open_claims.could_not_ask(now);
            }
            lost.extend(self.open_claims.expire(now));
            self.renew(now);
            self.set_next_look(now);
            if !lost.is_empty() {
                return Poll::Ready(lost);
            }
        }
    }

    /// Whether a renewal has ended; adds the claims that it found lost.
    fn poll_renewal(&mut self, cx: &mut Context<'_>, lost: &mut Vec<Ticket>) -> bool {
        let Some(Poll::Ready(outcome)) = self.renewal.as_mut().map(|renewal| renewal.poll_unpin(cx)) else {
            return false;
        };
        self.renewal = None;
        match outcome {
            Ok(superseded) => {
                lost.extend(superseded.iter());
                (self.pace, self.not_before) = Default::default();
            }
            Err(_) => {
                let (pace, wait) = self.setup.wait_after_failure(self.pace);
                (self.pace, self.not_before) = (pace, self.setup.timer.now() + wait);
            }
        }
        true
    }

    /// Whether it is time to look.
    fn poll_next_look(&mut self, cx: &mut Context<'_>) -> bool {
        let taken = self.open_claims.taken();
        if mem::replace(&mut self.taken, taken) != taken {
            self.set_next_look(self.setup.timer.now());
        }
        let is_time =
            self.next_look.as_mut().is_some_and(|next_look| next_look.sleep.poll_unpin(cx).is_ready());
        if is_time {
            self.next_look = None;
        }
        is_time
    }

    /// Begins to renew the claims that are due, and those that will be soon, so that few calls are made.
    fn renew(&mut self, now: Duration) {
        if self.must_wait(now) {
            return;
        }
        let Self { setup, open_claims, queue, .. } = &*self;
        let soon = setup.config.lease.renew_after() / 4;
        self.renewal = renew(setup, open_claims, queue, Wanted::DueBy(now + soon, now));
    }

    /// Whether the store has not answered a renewal yet, or could not answer the one before.
    fn must_wait(&self, now: Duration) -> bool {
        self.renewal.is_some() || now < self.not_before
    }

    fn set_next_look(&mut self, now: Duration) {
        let due = self.next_due(now);
        if self.next_look.as_ref().map(|next_look| next_look.due) == due {
            return;
        }
        self.next_look = due.map(|due| {
            let sleep = sleep(&self.setup.timer, due.saturating_sub(now));
            NextLook { due, sleep }
        });
    }

    /// When a claim is to be renewed next or passes its deadline; while a renewal is under way no other is begun.
    fn next_due(&self, now: Duration) -> Option<Duration> {
        let not_before = if self.renewal.is_some() { Duration::MAX } else { self.not_before };
        self.open_claims.next_due(now, not_before)
    }
}
