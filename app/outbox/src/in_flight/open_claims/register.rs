use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    mem,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use claimstream_domain::{ByteBudget, Claimed};

use super::open_claim::{OpenClaim, Stage};
use crate::in_flight::{lease_times::LeaseTimes, ticket::Ticket};
use crate::report::PipelineReport;

/// Every claim that one stream has taken and not ended yet: where it stands, its newest receipt and when its lease ends.
///
/// It is the one place that counts, so the bound on leased and unsettled messages is kept here, and the one place that
/// knows receipts, so a renewal and a settlement of one claim are kept apart here.
pub(crate) struct OpenClaims {
    /// The most open claims, asked-for ones included.
    bound: usize,
    /// The most bytes of payloads, except that one message passes.
    budget: ByteBudget,
    state: Mutex<State>,
    /// How many claims are out with the consumer and could still be settled.
    pub(super) idle: AtomicUsize,
}

/// What the stream may do with a claim that it is about to yield.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClaimStatus {
    /// Yield it.
    Live,
    /// Its deadline has passed while it waited: give it back.
    Stale,
    /// Another instance has the message: forget it.
    Lost,
}

/// Claims by their tickets, in no order. An ordered map moves its neighbours with each that comes or goes.
pub(super) type ByTicket = HashMap<Ticket, OpenClaim, BuildHasherDefault<TicketHasher>>;

/// Spreads tickets. They are numbers that we count up, so no message can choose them to be alike.
#[derive(Default)]
pub(super) struct TicketHasher(u64);

impl Hasher for TicketHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Default)]
pub(super) struct State {
    pub(super) next: u64,
    pub(super) asked: usize,
    pub(super) claims: ByTicket,
    /// Of the payloads of all open claims.
    pub(super) bytes: usize,
    pub(super) tally: PipelineReport,
    /// Whether a message was given back since the stream last asked.
    pub(super) given_back: bool,
    pub(super) wants_room: Option<Waker>,
}

impl OpenClaims {
    pub(crate) fn new(bound: u32, budget: ByteBudget) -> Self {
        Self { bound: bound as usize, budget, state: Mutex::default(), idle: AtomicUsize::new(0) }
    }

    /// Keeps room for a claim call of up to `most` messages, at least `least`, once there is that much; says also how many
    /// bytes there is room for.
    pub(crate) fn poll_room(
        &self,
        cx: &mut Context<'_>,
        least: usize,
        most: usize,
    ) -> Poll<(usize, ByteBudget)> {
        let mut state = self.state();
        let room = self.bound.saturating_sub(state.claims.len() + state.asked);
        let spare = if least <= 1 { 1 } else { self.budget.bytes() / 4 };
        let full = state.bytes + spare > self.budget.bytes() && !state.claims.is_empty();
        if room < least.max(1) || full {
            state.wants_room = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let asked = room.min(most);
        state.asked += asked;
        Poll::Ready((asked, self.budget.less(state.bytes)))
    }

    /// Ready when a claim is not open any longer.
    pub(crate) fn poll_ended(&self, cx: &mut Context<'_>, ticket: Ticket) -> Poll<()> {
        let mut state = self.state();
        if !state.claims.contains_key(&ticket) {
            return Poll::Ready(());
        }
        state.wants_room = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends a claim call that room for `asked` messages was kept for, and takes in what it brought.
    pub(crate) fn take_in(
        &self,
        asked: usize,
        times: LeaseTimes,
        claims: Vec<Claimed>,
    ) -> Vec<(Ticket, Claimed)> {
        let mut state = self.state();
        state.asked -= asked;
        state.tally.claimed += claims.len() as u64;
        let taken = claims.into_iter().map(|claimed| (state.add(&claimed, times), claimed));
        taken.collect()
    }

    /// Moves a claim from the buffer to its consumer, or to the settlement that ends it.
    pub(crate) fn hand_out(&self, ticket: Ticket, now: Duration) -> ClaimStatus {
        self.status(&mut self.state(), ticket, now)
    }

    /// Moves claims to their consumer, as [`hand_out`](Self::hand_out) does each.
    pub(crate) fn hand_out_all(
        &self,
        tickets: impl Iterator<Item = Ticket>,
        now: Duration,
    ) -> Vec<ClaimStatus> {
        let mut state = self.state();
        tickets.map(|ticket| self.status(&mut state, ticket, now)).collect()
    }

    fn status(&self, state: &mut State, ticket: Ticket, now: Duration) -> ClaimStatus {
        let Some(claim) = state.claims.get_mut(&ticket) else { return ClaimStatus::Lost };
        if claim.stage == Stage::Lost {
            return ClaimStatus::Lost;
        }
        let stale = claim.times.deadline <= now;
        if mem::replace(&mut claim.stage, Stage::Out) == Stage::Buffered {
            self.idle.fetch_add(1, Ordering::Relaxed);
        }
        if stale { ClaimStatus::Stale } else { ClaimStatus::Live }
    }

    /// When the claim must no longer be relied on.
    pub(crate) fn deadline(&self, ticket: Ticket) -> Duration {
        self.state().claims.get(&ticket).map_or(Duration::ZERO, |claim| claim.times.deadline)
    }

    /// The first moment at which one of these claims is to be given back, if no handler has begun with it.
    pub(crate) fn give_back_at(&self, tickets: impl Iterator<Item = Ticket>) -> Option<Duration> {
        let state = self.state();
        tickets.filter_map(|ticket| Some(state.claims.get(&ticket)?.times.give_back_at)).min()
    }

    /// Whether a message was given back since this was last asked: it is due at once and comes again.
    pub(crate) fn take_given_back(&self) -> bool {
        mem::take(&mut self.state().given_back)
    }

    /// How many claims have come in so far.
    pub(crate) fn taken(&self) -> u64 {
        self.state().next
    }

    /// How all claims have ended so far.
    pub(crate) fn tally(&self) -> PipelineReport {
        self.state().tally
    }

    /// Wakes the stream, if it waits for room, once the lock is free again.
    pub(super) fn make_room(mut state: MutexGuard<'_, State>) {
        let waker = state.wants_room.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, claimed: &Claimed, times: LeaseTimes) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        let claim = OpenClaim::new(claimed, times);
        self.bytes += claim.bytes;
        self.claims.insert(ticket, claim);
        ticket
    }

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<OpenClaim> {
        let claim = self.claims.remove(&ticket)?;
        self.bytes -= claim.bytes;
        Some(claim)
    }
}
