use std::{
    mem,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use claimstream_domain::{Receipt, Renewed};

use super::{
    open_claim::{OpenClaim, Stage},
    register::OpenClaims,
};
use crate::in_flight::{lease_times::LeaseTimes, renewal::Renewal, ticket::Ticket};

/// Which claims are to be renewed.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// This one.
    One(Ticket),
    /// All that are due by the first moment and not past their deadline at the second.
    DueBy(Duration, Duration),
}

impl OpenClaims {
    /// Begins a renewal of those claims that `wanted` names and that are not being renewed, not being settled and not lost;
    /// `None` if there are none.
    pub(crate) fn begin_renewal(
        &self,
        wanted: Wanted,
        renew: impl FnOnce(Vec<Ticket>, Vec<Receipt>) -> Renewal,
    ) -> Option<Renewal> {
        let mut state = self.state();
        let mut renewing: Vec<(Ticket, &mut OpenClaim)> = match wanted {
            Wanted::One(ticket) => {
                state.claims.get_mut(&ticket).map(|claim| (ticket, claim)).into_iter().collect()
            }
            Wanted::DueBy(by, now) => {
                let due = state.claims.iter_mut().filter(|(_, claim)| claim.is_due(by, now));
                due.map(|(ticket, claim)| (*ticket, claim)).collect()
            }
        };
        renewing.retain(|(_, claim)| claim.may_be_renewed() && claim.renewal.is_none());
        if renewing.is_empty() {
            return None;
        }
        renewing.sort_unstable_by_key(|(ticket, _)| *ticket);
        let tickets = renewing.iter().map(|(ticket, _)| *ticket).collect();
        let renewal = renew(tickets, renewing.iter().map(|(_, claim)| claim.receipt.clone()).collect());
        for (_, claim) in &mut renewing {
            (claim.renewal, claim.asked) = (Some(renewal.clone()), true);
        }
        Some(renewal)
    }

    /// The renewal that a claim is part of now.
    pub(crate) fn renewal_of(&self, ticket: Ticket) -> Option<Renewal> {
        self.state().claims.get(&ticket)?.renewal.clone()
    }

    /// The claim's receipt; `None` if it is lost.
    pub(crate) fn receipt(&self, ticket: Ticket) -> Option<Receipt> {
        let state = self.state();
        let claim = state.claims.get(&ticket).filter(|claim| claim.stage != Stage::Lost)?;
        Some(claim.receipt.clone())
    }

    /// Ends a renewal: `renewed` has an answer for each ticket, or none at all if the store failed. What is not known yet is
    /// asked for again at the moment `again`. Returns the claims that turned out to be lost.
    pub(crate) fn conclude_renewal(
        &self,
        tickets: &[Ticket],
        renewed: Vec<Renewed>,
        times: LeaseTimes,
        again: Duration,
    ) -> Arc<[Ticket]> {
        let mut lost = Vec::new();
        let mut ended = Vec::with_capacity(tickets.len());
        let mut state = self.state();
        for ticket in tickets {
            ended.extend(state.claims.get_mut(ticket).map(|claim| claim.renewal.take()));
        }
        for (ticket, renewed) in tickets.iter().zip(renewed) {
            let Some(claim) = state.claims.get_mut(ticket) else { continue };
            match renewed {
                Renewed::Extended(receipt) => {
                    (claim.receipt, claim.times) = (receipt, times);
                    // An answer after the deadline came too late for the handler.
                    claim.asked = claim.stage == Stage::Lost;
                }
                Renewed::Superseded => {
                    self.lose(claim);
                    lost.push(*ticket);
                }
                Renewed::Unknown => claim.times.renew_at = again,
            }
        }
        // The ended renewals are dropped after the lock is free.
        drop(state);
        lost.into()
    }

    /// Notes of claims that are due for a renewal that the store was asked for more time without success: it has not answered an earlier call, and until
    /// it does no other one is made.
    pub(crate) fn could_not_ask(&self, now: Duration) {
        let mut state = self.state();
        let due =
            state.claims.values_mut().filter(|claim| claim.may_be_renewed() && claim.times.renew_at <= now);
        due.for_each(|claim| claim.asked = true);
    }

    /// Marks those claims as lost that are out with a handler and past their deadline.
    pub(crate) fn expire(&self, now: Duration) -> Vec<Ticket> {
        let mut state = self.state();
        let expired = state
            .claims
            .iter_mut()
            .filter(|(_, claim)| claim.stage == Stage::Out && claim.times.deadline <= now);
        let lose = |(ticket, claim): (&Ticket, &mut OpenClaim)| {
            self.lose(claim);
            *ticket
        };
        let mut expired: Vec<_> = expired.map(lose).collect();
        expired.sort_unstable();
        expired
    }

    /// The newest receipt of a claim that was lost although the store had been asked for more time before its deadline.
    pub(crate) fn asked_in_vain(&self, ticket: Ticket) -> Option<Receipt> {
        let state = self.state();
        let claim = state.claims.get(&ticket).filter(|claim| claim.stage == Stage::Lost && claim.asked)?;
        Some(claim.receipt.clone())
    }

    /// The next moment at which a claim wants to be renewed, no earlier than `not_before`, or passes its deadline.
    pub(crate) fn next_due(&self, now: Duration, not_before: Duration) -> Option<Duration> {
        let state = self.state();
        let open = state.claims.values().filter(|claim| claim.may_be_renewed() && claim.times.deadline > now);
        open.map(|claim| match claim.renewal {
            Some(_) => claim.times.deadline,
            None => claim.times.renew_at.max(not_before).min(claim.times.deadline),
        })
        .min()
    }

    fn lose(&self, claim: &mut OpenClaim) {
        if mem::replace(&mut claim.stage, Stage::Lost) == Stage::Out {
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
