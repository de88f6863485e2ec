use std::sync::Arc;

use claimstream_domain::{Claimed, RunPlace};
use futures::FutureExt;

use super::Claims;
use crate::{buffer::Buffer, claimer::NewClaims, runs::Admitted};

impl Claims {
    /// Takes in what a claim brought: most of it to be yielded, some to be given back or buried.
    pub(super) fn take_in(&mut self, claims: NewClaims) {
        for (ticket, claimed) in claims {
            if self.is_used_up(&claimed) && !matches!(claimed.place, RunPlace::Behind(_)) {
                // What is behind it follows its burial.
                if let Admitted::Ready(claimed) = self.settler.runs.admit(ticket, claimed) {
                    self.endings.bury(ticket, claimed);
                }
            } else if self.claimer.is_stopping() {
                self.endings.give_back(ticket, claimed);
            } else if let Some(claimed) = self.isolation.admit(ticket, claimed) {
                match self.settler.runs.admit(ticket, claimed) {
                    Admitted::Ready(claimed) => self.buffer.push(ticket, claimed),
                    Admitted::Held => {}
                    Admitted::GoesBack(claimed) => self.endings.give_back(ticket, claimed),
                }
            }
        }
        self.settler.runs.forget_ended();
        if self.buffer.wants_watch(self.settler.runs.held()) {
            let (buffer, settler) = (Arc::downgrade(&self.buffer), Arc::downgrade(&self.settler));
            let timer = Arc::clone(&self.settler.setup.timer);
            timer.run_beside(Buffer::watch(buffer, settler, Arc::clone(&timer)).boxed());
        }
    }

    /// Whether a message has been claimed more often than it may be tried.
    pub(super) fn is_used_up(&self, claimed: &Claimed) -> bool {
        claimed.attempt > self.settler.setup.config.retry.max_attempts
    }
}
