use std::{
    sync::Arc,
    task::{Context, Poll},
};

use claimstream_domain::Claimed;
use futures::{FutureExt, future::BoxFuture};

use super::returns::{Ended, Returns};
use crate::{in_flight::Ticket, settle::Settler, setup::sleep};

/// Keeps apart the messages that may be what ends their processes: of those that were cut off again and again only one is at
/// hand, and nothing else with it, or others would be buried with it.
pub(crate) struct Isolation {
    settler: Arc<Settler>,
    /// The one at hand; nothing is claimed while it is.
    suspect: Option<Suspect>,
    /// Others on their way back; the one at hand waits for them.
    leaving: Returns,
}

struct Suspect {
    ticket: Ticket,
    /// When its claim must no longer be relied on: a consumer that keeps it longer does not stop the stream.
    deadline: BoxFuture<'static, ()>,
}

impl Isolation {
    pub(crate) fn new(settler: Arc<Settler>) -> Self {
        Self { leaving: Returns::new(Arc::clone(&settler)), settler, suspect: None }
    }

    /// The message, if it may be yielded; `None` if it is a suspect and goes back, because another one is at hand.
    pub(crate) fn admit(&mut self, ticket: Ticket, claimed: Claimed) -> Option<Claimed> {
        if !self.settler.setup.config.retry.is_suspect(claimed.attempt, claimed.last_error.is_some()) {
            return Some(claimed);
        }
        if self.suspect.is_some() {
            self.leaving.keep_apart(ticket, claimed);
            return None;
        }
        let timer = &self.settler.setup.timer;
        let left = self.settler.open_claims.deadline(ticket).saturating_sub(timer.now());
        self.suspect = Some(Suspect { ticket, deadline: sleep(timer, left) });
        Some(claimed)
    }

    /// Whether a suspect is at hand; wakes the task when it is not any more.
    pub(crate) fn has_suspect(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(Suspect { ticket, deadline }) = &mut self.suspect else { return false };
        let ended = self.settler.open_claims.poll_ended(cx, *ticket) == Poll::Ready(());
        if ended || deadline.poll_unpin(cx).is_ready() {
            self.suspect = None;
        }
        self.suspect.is_some()
    }

    pub(crate) fn is_suspect(&self, ticket: Ticket) -> bool {
        self.suspect.as_ref().is_some_and(|suspect| suspect.ticket == ticket)
    }

    /// The next message that has gone back.
    pub(crate) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Option<Ended> {
        self.leaving.poll_done(cx)
    }

    /// Whether none is on its way back.
    pub(crate) fn none_leaving(&self) -> bool {
        self.leaving.is_empty()
    }

    /// Waits for none that is on its way back.
    pub(crate) fn abandon(&mut self) {
        self.leaving.clear();
    }
}
