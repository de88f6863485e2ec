use std::{mem, sync::atomic::Ordering, time::Duration};

use claimstream_domain::{Event, Receipt, Settled};

use super::{
    open_claim::{OpenClaim, Stage},
    register::{OpenClaims, State},
};
use crate::in_flight::{renewal::Renewal, ticket::Ticket};

/// What stands before the settlement of a claim.
pub(crate) enum Turn {
    /// Nothing: no renewal will touch the claim from now on, and this is its receipt and its deadline.
    Settle(Receipt, Duration),
    /// A renewal that will change the receipt, or find the claim lost.
    After(Renewal),
    /// The claim is lost, there is nothing to settle; its newest receipt, if it is still known.
    Lost(Option<Receipt>),
}

impl OpenClaims {
    /// Whether no claim is left that could still be settled: no more settlements can come.
    pub(crate) fn none_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed) == 0
    }

    /// Marks a claim as being settled, which shuts renewals out, unless one is under way.
    pub(crate) fn begin_settling(&self, ticket: Ticket) -> Turn {
        self.turn(&mut self.state(), ticket)
    }

    /// Marks claims as being settled, as [`begin_settling`](Self::begin_settling) does each.
    pub(crate) fn begin_settling_all(&self, tickets: impl Iterator<Item = Ticket>) -> Vec<Turn> {
        let mut state = self.state();
        tickets.map(|ticket| self.turn(&mut state, ticket)).collect()
    }

    fn turn(&self, state: &mut State, ticket: Ticket) -> Turn {
        match state.claims.get_mut(&ticket) {
            None => Turn::Lost(None),
            Some(OpenClaim { renewal: Some(renewal), .. }) => Turn::After(renewal.clone()),
            Some(claim) if claim.stage == Stage::Lost => Turn::Lost(Some(claim.receipt.clone())),
            Some(claim) => {
                let before = mem::replace(&mut claim.stage, Stage::Settling);
                claim.unbegun = before == Stage::Buffered;
                if before == Stage::Out {
                    self.idle.fetch_sub(1, Ordering::Relaxed);
                }
                Turn::Settle(claim.receipt.clone(), claim.times.deadline)
            }
        }
    }

    /// Forgets claims that were settled, and counts how each ended: `None` if the store could not say.
    pub(crate) fn conclude(&self, conclusions: impl Iterator<Item = (Ticket, Event, Option<Settled>)>) {
        let mut state = self.state();
        for (ticket, event, settled) in conclusions {
            // A claim whose settlement no caller waited for any longer has been counted when it was let go.
            if let Some(claim) = state.remove(ticket) {
                state.tally.count(event, settled);
                // A message that was given back from the buffer has waited long enough.
                state.given_back |= event == Event::Release && !claim.unbegun;
            }
        }
        Self::make_room(state);
    }

    /// Forgets a claim that its owner has dropped; does nothing to one that has been settled.
    pub(crate) fn let_go(&self, ticket: Ticket) -> bool {
        let mut state = self.state();
        let Some(claim) = state.remove(ticket) else { return false };
        match claim.stage {
            Stage::Lost => state.tally.superseded += 1,
            Stage::Out => {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                state.tally.unsettled += 1;
            }
            Stage::Buffered | Stage::Settling => state.tally.unsettled += 1,
        }
        Self::make_room(state);
        true
    }

    /// Forgets all claims, because no caller waits for any of them any longer.
    pub(crate) fn let_all_go(&self) {
        let all: Vec<Ticket> = self.state().claims.keys().copied().collect();
        all.into_iter().for_each(|ticket| {
            self.let_go(ticket);
        });
    }
}
