use claimstream_domain::{Event, State as Stands, is_due};

use super::{Fault, MAX_ATTEMPTS, Request, Wish};

/// An entry of the queue, and what the promises have to know about its past.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Row {
    /// Where it stands.
    pub stands: Stands,
    /// When it is due, on a clock that always shows [`NOW`].
    available_at: u8,
    /// The claim that holds it.
    pub(super) claim: Option<u8>,
    /// The instance that holds it, by which only a fault decides.
    owner: Option<u8>,
    attempts: u8,
    /// The claim whose lapse was counted when the one that holds it came; followed where there are excuses only, or there would
    /// be too many states.
    counted_for: Option<u8>,
    /// How often it was excused, by those who had it.
    excused: u8,
    /// How often its handler may be begun, excuses included.
    pub(super) allowed: u8,
    /// Past: its newest claim, whatever became of it.
    pub(super) newest: Option<u8>,
    /// Past: those claims that a process still remembers by which something was accepted, a bit for
    /// each.
    ended: u8,
    /// Past: how often its handler was begun.
    pub(super) begun: u8,
    /// Past: a claim that was not the newest was accepted.
    pub(super) stale: bool,
    /// Past: a claim was accepted a second time.
    pub(super) doubled: bool,
}

/// What the clock shows.
const NOW: u8 = 0;
/// A moment that is still to come: when a lease or a delay ends.
const LATER: u8 = 1;

impl Row {
    pub(super) fn enqueued(excuses: u8) -> Self {
        Self {
            stands: Stands::Ready,
            available_at: NOW,
            claim: None,
            owner: None,
            attempts: 0,
            counted_for: None,
            excused: 0,
            allowed: MAX_ATTEMPTS + excuses,
            newest: None,
            ended: 0,
            begun: 0,
            stale: false,
            doubled: false,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.stands, Stands::Done | Stands::Dead)
    }

    /// Lets the moment come that it waits for; `false` if it waits for none.
    pub(super) fn time_passes(&mut self) -> bool {
        let waits = !self.has_ended() && self.available_at == LATER;
        self.available_at = NOW;
        waits
    }

    pub(super) fn is_claimable(&self, fault: Option<Fault>) -> bool {
        let state = match fault {
            Some(Fault::ExpiredIsNeverReclaimed) => self.stands == Stands::Ready,
            Some(Fault::NeverReleased) => self.stands == Stands::Ready && self.owner.is_none(),
            _ => !self.has_ended(),
        };
        state && is_due(self.available_at, NOW)
    }

    /// Leases it by a claim; answers which attempt it is.
    pub(super) fn take(&mut self, claim: u8, instance: u8, fault: Option<Fault>) -> u8 {
        self.counted_for = None;
        if self.stands == Stands::Leased {
            self.goes(Event::Expire);
            self.counted_for = self.claim.filter(|_| self.allowed > MAX_ATTEMPTS);
        }
        self.goes(Event::Claim);
        self.available_at = LATER;
        self.claim = Some(claim);
        self.owner = Some(instance);
        self.newest = Some(claim);
        let attempt = (self.attempts + 1).min(MAX_ATTEMPTS + 1);
        if fault != Some(Fault::CountedWhenSettled) {
            self.attempts = attempt;
        }
        attempt
    }

    pub(super) fn begin(&mut self) {
        self.begun = (self.begun + 1).min(self.allowed + 1);
    }

    /// Whether it is excused once more.
    pub(super) fn is_excused(&mut self, fault: Option<Fault>) -> bool {
        let excused = MAX_ATTEMPTS + self.excused < self.allowed;
        if fault != Some(Fault::ExcusedWithoutEnd) {
            self.excused += u8::from(excused);
        }
        excused
    }

    /// Does what is wished if the request may still wish it.
    pub(super) fn meets(&mut self, request: Request, fault: Option<Fault>) -> bool {
        let shown = match fault {
            Some(Fault::FencedByInstance) => self.owner == Some(request.instance),
            Some(Fault::NotFenced) => true,
            _ => self.claim == Some(request.claim),
        };
        if !shown || self.stands != Stands::Leased {
            if request.wish == Wish::Settle(Event::Release) {
                self.take_back(request.claim);
            }
            return false;
        }
        match request.wish {
            Wish::Renew => self.available_at = LATER,
            Wish::Settle(event) => {
                self.remember(request.claim);
                self.settle(event, fault);
            }
        }
        true
    }

    /// Takes back the attempt that was counted for a claim, once, while the claim that came next holds it.
    fn take_back(&mut self, claim: u8) {
        let is_held = self.stands == Stands::Leased && self.available_at == LATER;
        if is_held && self.counted_for == Some(claim) && self.attempts > 1 {
            self.attempts -= 1;
            self.counted_for = None;
        }
    }

    fn settle(&mut self, event: Event, fault: Option<Fault>) {
        self.goes(event);
        self.claim = None;
        if fault != Some(Fault::NeverReleased) {
            self.owner = None;
        }
        self.available_at = if event == Event::Nack { LATER } else { NOW };
        match (event, fault) {
            (Event::Release, Some(Fault::CountedWhenSettled)) => {}
            (Event::Release, _) => self.attempts -= 1,
            (Event::Nack, Some(Fault::CountedWhenSettled)) => self.attempts += 1,
            _ => {}
        }
    }

    fn goes(&mut self, event: Event) {
        self.stands = self.stands.next(event).unwrap_or_else(|illegal| panic!("{illegal}"));
    }

    fn remember(&mut self, claim: u8) {
        self.stale |= self.newest != Some(claim);
        self.doubled |= self.ended & bit(claim) != 0;
        self.ended |= bit(claim);
    }

    /// Forgets what was accepted for claims that are not among `known`, and gives the others their new numbers.
    pub(super) fn renumber(&mut self, known: &[u8], new: impl Fn(u8) -> u8) {
        let ended = known.iter().filter(|claim| self.ended & bit(**claim) != 0);
        self.ended = ended.fold(0, |all, claim| all | bit(new(*claim)));
        self.claim = self.claim.map(&new);
        self.newest = self.newest.map(&new);
        self.counted_for = self.counted_for.filter(|claim| known.contains(claim)).map(&new);
    }
}

/// At most seven claims of a message are known at a time, so each has a bit.
fn bit(claim: u8) -> u8 {
    1 << claim
}
