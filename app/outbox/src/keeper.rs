use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::Pace;
use futures::{FutureExt, future::BoxFuture};

use crate::{
    holdings::{Ticket, Wanted},
    renewal::{self, Renewal},
    settler::Settler,
};

/// Renews the claims of one stream in time, many in one call, and tells which of them are lost.
///
/// It has one timer for all claims, which is set anew when a claim comes in that is due earlier than those before it: a
/// claim call counts from when it was sent, however late its answer comes.
pub(crate) struct Keeper {
    settler: Arc<Settler>,
    alarm: Option<Alarm>,
    /// How many claims had come in when the alarm was last looked at.
    taken: u64,
    renewal: Option<Renewal>,
    /// How often in a row a renewal has failed, and until when none is tried.
    pace: Pace,
    not_before: Duration,
}

struct Alarm {
    due: Duration,
    sleep: BoxFuture<'static, ()>,
}

impl Keeper {
    pub(crate) fn new(settler: Arc<Settler>) -> Self {
        Self {
            settler,
            alarm: None,
            taken: 0,
            renewal: None,
            pace: Pace::default(),
            not_before: Duration::ZERO,
        }
    }

    /// The next claims that are lost: somebody else has taken the message, or the deadline has passed.
    pub(crate) fn poll_lost(&mut self, cx: &mut Context<'_>) -> Poll<Vec<Ticket>> {
        loop {
            let mut lost = Vec::new();
            let renewed = self.poll_renewal(cx, &mut lost);
            let rung = self.poll_alarm(cx);
            if !renewed && !rung {
                return Poll::Pending;
            }
            let now = self.settler.setup.timer.now();
            lost.extend(self.settler.holdings.expire(now));
            self.renew(now);
            self.set_alarm(now);
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
                let (pace, wait) = self.settler.setup.wait_after_failure(self.pace);
                (self.pace, self.not_before) = (pace, self.settler.setup.timer.now() + wait);
            }
        }
        true
    }

    /// Whether it is time to look.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> bool {
        let taken = self.settler.holdings.taken();
        if mem::replace(&mut self.taken, taken) != taken {
            self.set_alarm(self.settler.setup.timer.now());
        }
        let rings = self.alarm.as_mut().is_some_and(|alarm| alarm.sleep.poll_unpin(cx).is_ready());
        if rings {
            self.alarm = None;
        }
        rings
    }

    /// Begins to renew what is due, and what will be soon, so that few calls are made.
    fn renew(&mut self, now: Duration) {
        if self.renewal.is_some() || now < self.not_before {
            return;
        }
        let Settler { setup, holdings, queue, .. } = &*self.settler;
        let soon = setup.config.lease.renew_after() / 4;
        self.renewal = renewal::begin(setup, holdings, queue, Wanted::DueBy(now + soon, now));
    }

    fn set_alarm(&mut self, now: Duration) {
        let due = self.next_due(now);
        if self.alarm.as_ref().map(|alarm| alarm.due) == due {
            return;
        }
        self.alarm = due.map(|due| {
            let timer = Arc::clone(&self.settler.setup.timer);
            let sleep = async move { timer.sleep(due.saturating_sub(now)).await }.boxed();
            Alarm { due, sleep }
        });
    }

    /// When a claim is to be renewed next or passes its deadline; while a renewal is under way no other is begun.
    fn next_due(&self, now: Duration) -> Option<Duration> {
        let not_before = if self.renewal.is_some() { Duration::MAX } else { self.not_before };
        self.settler.holdings.next_due(now, not_before)
    }
}
