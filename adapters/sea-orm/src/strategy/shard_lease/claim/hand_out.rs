use std::{collections::VecDeque, sync::Arc, time::Duration};

use claimstream_domain::{Claimed, Disposition, Locator, MessageId, Receipt, RunPlace, Settlement};
use claimstream_ports::StoreError;
use tokio::sync::OwnedMutexGuard;

use crate::{
    database::clock::micros,
    messages::{body::bodies, unreadable::given_up},
    strategy::shard_lease::{
        claim::{
            candidate::Candidate,
            claiming::{CLAIM, Claiming},
            due::Due,
            payloads::Size,
            pick::Picked,
            visit::Visit,
        },
        give_back::watch,
        in_flight::InFlight,
        lease::write::NextFence,
        read_ahead::{Page, ReadAhead},
        shard_key::ShardKey,
        shard_state::{LeaseStatus, Noted, ShardState},
        watermark::Start,
    },
};

impl Claiming<'_> {
    /// Reads from `low` on, picks, notes the picked in the lease row, and only then hands them out; messages that were not
    /// asked for wait for the next claims.
    pub(crate) async fn take(
        &mut self,
        visit: &mut Visit,
        state: &mut OwnedMutexGuard<ShardState>,
        start: Start,
        reach: usize,
    ) -> Result<usize, StoreError> {
        let begun = self.store.db.clock.elapsed();
        let Some(mut due) = self.read(visit, state, start, reach).await? else { return Ok(0) };
        if due.has_twins {
            self.collected.with_twins.push(visit.key.shard);
        }
        if due.extent.is_whole {
            // A message that is not there any more was ended by another instance.
            state.in_flight.retain(|id, entry| entry.due > due.now || due.seen.contains(id));
        }
        let picked = self.picked(state, &due, reach);
        state.some_wait = picked.taken.len() < reach && due.some_wait(state, &picked);
        let (picked, is_cut_short) = self.within_budget(&mut due, picked).await?;
        visit.watermark = due.watermark(state, &picked);
        if picked.taken.is_empty() || !self.may_hand_out(state, &due, &picked) {
            visit.watermark = visit.watermark.filter(|_| picked.taken.is_empty());
            self.collected.is_cut_short |= is_cut_short;
            return Ok(0);
        }
        let hold = if reach > self.wanted() { ReadAhead::HOLD } else { Duration::ZERO };
        if !self.write_picked(&visit.key, state, &due, &picked, hold).await? {
            return Ok(0);
        }
        state.flow.claimed(picked.taken.len(), picked.taken.len() < reach && !is_cut_short, begun);
        let wanted = self.wanted();
        let mut waiting = self.hand_out(visit, &due, &picked);
        let taken = waiting.drain(..wanted.min(waiting.len()));
        self.collected.taken.extend(taken);
        self.collected.is_cut_short |= is_cut_short;
        if picked.taken.len() == reach {
            self.store.read_ahead.full(&visit.key.queue, due.payloads.weight());
        }
        let (lease, until, lost) = (self.request.lease, begun + hold, Arc::clone(&state.lost));
        if self.store.read_ahead.keep(&visit.key.queue, Page { lease, read_at: begun, until, lost, waiting })
        {
            let timer = self.store.db.timer().clone();
            self.store.db.runtime.spawn(watch(timer, Arc::downgrade(self.store)));
        }
        Ok(picked.taken.len().min(wanted))
    }

    /// The picked with their bodies, as far as they fit into the budget; and whether fewer than wanted fit.
    async fn within_budget(&self, due: &mut Due, picked: Picked) -> Result<(Picked, bool), StoreError> {
        let taken = &self.collected.taken;
        let in_hand = || taken.iter().map(|claimed| claimed.message.payload.bytes().len()).sum();
        let budget = (self.request.budget, (!taken.is_empty()).then(in_hand));
        let (db, on) = (&self.store.db, &self.on);
        let unmeasured = due.payloads.left_out(&picked, Size::Unknown);
        due.payloads.add(bodies(db, on, CLAIM, &unmeasured, Some(self.request.budget)).await?);
        let wanted = self.wanted().min(picked.taken.len());
        let within = due.payloads.within(picked, wanted, budget, ReadAhead::budget());
        let is_cut_short = within.taken.len() < wanted;
        let heavy = due.payloads.left_out(&within, Size::Known);
        due.payloads.add(bodies(db, on, CLAIM, &heavy, None).await?);
        Ok((within, is_cut_short))
    }

    /// False if it is a suspect, and another one has come first in another shard.
    fn may_hand_out(&self, state: &OwnedMutexGuard<ShardState>, due: &Due, picked: &Picked) -> bool {
        let suspect = picked.taken.iter().find(|n| picked.is_suspect(&due.candidates, **n));
        suspect.is_none_or(|n| self.store.owned.suspect.take(state, due.candidates[*n].id, due.now))
    }

    /// Notes the picked in the state and in the lease row; false if the lease is not ours.
    async fn write_picked(
        &self,
        key: &ShardKey,
        state: &mut ShardState,
        due: &Due,
        picked: &Picked,
        hold: Duration,
    ) -> Result<bool, StoreError> {
        let next = next_fence(state, due);
        state.label = self.request.owner.label().to_owned();
        let noted = self.note_in_flight(state, due, picked, hold);
        let place = |n: &usize| (due.candidates[*n].due, due.candidates[*n].id);
        let expired: Vec<_> = picked.expired.iter().map(place).collect();
        let written = self.store.write_state(&self.on, state, next, key, &expired).await;
        match written {
            Ok(true) => {}
            Ok(false) => state.lose(),
            Err(_) => {
                state.status = LeaseStatus::Unknown;
                state.undo(noted);
            }
        }
        written
    }

    /// Notes the picked as in flight; they are handed out at once, or as late as `hold` from now.
    pub(super) fn note_in_flight(
        &self,
        state: &mut ShardState,
        due: &Due,
        picked: &Picked,
        hold: Duration,
    ) -> Noted {
        let deadline = due.now + micros(self.request.lease.duration() + hold);
        state.note(picked.taken.iter().map(|n| {
            let Candidate { id, due: due_at, key, attempts, .. } = due.candidates[*n].clone();
            let alone = picked.is_suspect(&due.candidates, *n);
            let attempts = attempts + u32::from(picked.expired.contains(n));
            let is_in_run = key.is_some() && self.store.order.is_per_key();
            let (claim, run_of) = (self.request.claim, self.request.runs.filter(|_| is_in_run));
            let (is_revoked, is_last) = (false, false);
            (id, InFlight { claim, due: due_at, attempts, deadline, key, run_of, is_revoked, is_last, alone })
        }))
    }

    /// The picked as claims; a message that cannot be read is set aside to be buried.
    pub(super) fn hand_out(&mut self, visit: &mut Visit, due: &Due, picked: &Picked) -> VecDeque<Claimed> {
        let mut handed_out = VecDeque::with_capacity(picked.taken.len());
        for (n, place) in picked.taken.iter().zip(&picked.places) {
            let expired = u32::from(picked.expired.contains(n));
            let Candidate { id, due: due_at, waited, .. } = due.candidates[*n];
            let receipt = self.receipt(&visit.key, due_at, id);
            match due.payloads.claimed(*n, receipt.clone(), expired) {
                Ok(claimed) => handed_out.push_back(Claimed { place: *place, waited, ..claimed }),
                // It is buried when those before it have ended.
                Err(_) if matches!(place, RunPlace::Behind(_)) => {
                    let disposition = Disposition::Returned;
                    self.collected.unreadable.push(Settlement { receipt, disposition });
                }
                Err(why) => self.collected.unreadable.push(given_up(receipt, &why)),
            }
            visit.newest = visit.newest.max(Some(due_at));
        }
        handed_out
    }

    fn receipt(&self, key: &ShardKey, due: i64, message: MessageId) -> Receipt {
        let ShardKey { queue, shard } = key.clone();
        Receipt { message, queue, shard, claim: self.request.claim, locator: Locator(due) }
    }
}

/// The fence of the write that hands messages out, before they are noted in the state.
pub(super) fn next_fence(state: &ShardState, due: &Due) -> NextFence {
    // The state may list messages that the row does not: the answer to a settlement that freed the shard was lost.
    match due.was_free() || state.in_flight.is_empty() {
        true => NextFence::Raised,
        false => NextFence::Same,
    }
}
