use std::sync::Arc;

use claimstream_domain::{Claimed, RunPlace};
use futures::FutureExt;

use super::Claims;
use crate::order::Admitted;
use crate::stream::{buffer::Buffer, claimer::NewClaims};

impl Claims {
    /// Takes in what a claim brought: most of it to be yielded, some to be given back or buried.
    pub(super) fn take_in(&mut self, claims: NewClaims) {
        for (ticket, claimed) in claims {
            if self.is_used_up(&claimed) && !matches!(claimed.place, RunPlace::Behind(_)) {
                // What is behind it follows its burial.
                if let Admitted::Ready(claimed) = self.settler.key_groups.admit(ticket, claimed) {
                    self.returns.bury(ticket, claimed);
                }
            } else if self.claimer.is_stopping() {
                self.returns.give_back(ticket, claimed);
            } else if let Some(claimed) = self.isolation.admit(ticket, claimed) {
                match self.settler.key_groups.admit(ticket, claimed) {
                    Admitted::Ready(claimed) => self.buffer.push(ticket, claimed),
                    Admitted::Held => {}
                    Admitted::GoesBack(claimed) => self.returns.give_back(ticket, claimed),
                }
            }
        }
        self.settler.key_groups.forget_ended();
        if self.buffer.wants_watch(self.settler.key_groups.held()) {
            let (buffer, settler) = (Arc::downgrade(&self.buffer), Arc::downgrade(&self.settler));
            let timer = Arc::clone(&self.settler.setup.timer);
            timer.spawn(Buffer::watch(buffer, settler, Arc::clone(&timer)).boxed());
        }
    }

    /// Whether a message has been claimed more often than it may be tried.
    pub(super) fn is_used_up(&self, claimed: &Claimed) -> bool {
        claimed.attempt > self.settler.setup.config.retry.max_attempts
    }
}
