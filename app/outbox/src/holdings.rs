use std::{
    collections::BTreeMap,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use claimstream_domain::{ByteBudget, Claimed, Event, Receipt, Renewed, Settled};

use crate::{PipelineReport, renewal::Renewal, term::Term};

/// Every claim that one stream has taken and not ended yet: where it stands, its newest receipt and its term.
///
/// It is the one place that counts, so the bound on what is leased and unsettled is kept here, and the one place that
/// knows receipts, so a renewal and a settlement of one claim are kept apart here.
pub(crate) struct Holdings {
    /// The most claims held, asked-for ones included.
    bound: usize,
    /// The most bytes of payloads held, except that one message passes.
    budget: ByteBudget,
    books: Mutex<Books>,
    /// How many claims are out with the consumer and could still be settled.
    idle: AtomicUsize,
}

/// The name of one held claim, given in the order in which claims came in and never again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Ticket(u64);

/// What the stream may do with a claim that it is about to yield.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Yield it.
    Live,
    /// Its deadline has passed while it waited: give it back.
    Stale,
    /// Somebody else holds the message: forget it.
    Lost,
}

/// What stands before the settlement of a claim.
pub(crate) enum Turn {
    /// Nothing: no renewal will touch the claim from now on, and this is its receipt and its deadline.
    Settle(Receipt, Duration),
    /// A renewal that will change the receipt, or find the claim lost.
    After(Renewal),
    /// The claim is lost, there is nothing to settle; its newest receipt, if it is still in the books.
    Lost(Option<Receipt>),
}

/// How a settlement ended, for the books; `None` if the store could not say.
pub(crate) type Conclusion = (Ticket, Event, Option<Settled>);

#[derive(Default)]
struct Books {
    next: u64,
    asked: usize,
    held: BTreeMap<Ticket, Held>,
    /// Of the payloads of all that is held.
    bytes: usize,
    tally: PipelineReport,
    /// Whether a message was given back since the stream last asked.
    given_back: bool,
    wants_room: Option<Waker>,
}

struct Held {
    stage: Stage,
    bytes: usize,
    receipt: Receipt,
    term: Term,
    renewal: Option<Renewal>,
    /// Whether the store has been asked for more time in vain so far.
    asked: bool,
    /// Whether it is ended without having been handed out.
    unbegun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Buffered,
    Out,
    Settling,
    Lost,
}

impl Holdings {
    pub(crate) fn new(bound: u32, budget: ByteBudget) -> Self {
        Self { bound: bound as usize, budget, books: Mutex::default(), idle: AtomicUsize::new(0) }
    }

    /// Keeps room for a claim call of up to `most` messages, at least `least`, once there is that much; says also how many
    /// bytes there is room for.
    pub(crate) fn poll_room(
        &self,
        cx: &mut Context<'_>,
        least: usize,
        most: usize,
    ) -> Poll<(usize, ByteBudget)> {
        let mut books = self.books();
        let room = self.bound.saturating_sub(books.held.len() + books.asked);
        let spare = if least <= 1 { 1 } else { self.budget.bytes() / 4 };
        let full = books.bytes + spare > self.budget.bytes() && !books.held.is_empty();
        if room < least.max(1) || full {
            books.wants_room = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let asked = room.min(most);
        books.asked += asked;
        Poll::Ready((asked, self.budget.less(books.bytes)))
    }

    /// Ready when a claim is not held any longer.
    pub(crate) fn poll_ended(&self, cx: &mut Context<'_>, ticket: Ticket) -> Poll<()> {
        let mut books = self.books();
        if !books.held.contains_key(&ticket) {
            return Poll::Ready(());
        }
        books.wants_room = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends a claim call that room for `asked` messages was kept for, and takes in what it brought.
    pub(crate) fn take_in(&self, asked: usize, term: Term, claims: Vec<Claimed>) -> Vec<(Ticket, Claimed)> {
        let mut books = self.books();
        books.asked -= asked;
        books.tally.claimed += claims.len() as u64;
        let taken = claims.into_iter().map(|claimed| (books.hold(&claimed, term), claimed));
        taken.collect()
    }

    /// Moves a claim from the buffer to whoever is to end it.
    pub(crate) fn hand_out(&self, ticket: Ticket, now: Duration) -> Standing {
        let mut books = self.books();
        let Some(held) = books.held.get_mut(&ticket) else { return Standing::Lost };
        if held.stage == Stage::Lost {
            return Standing::Lost;
        }
        let stale = held.term.deadline <= now;
        if mem::replace(&mut held.stage, Stage::Out) == Stage::Buffered {
            self.idle.fetch_add(1, Ordering::Relaxed);
        }
        if stale { Standing::Stale } else { Standing::Live }
    }

    /// When the claim must no longer be relied on.
    pub(crate) fn deadline(&self, ticket: Ticket) -> Duration {
        self.books().held.get(&ticket).map_or(Duration::ZERO, |held| held.term.deadline)
    }

    /// Whether no claim is left that could still be settled: whoever waits for more settlements waits in vain.
    pub(crate) fn none_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed) == 0
    }

    /// Marks a claim as being settled, which shuts renewals out, unless one is under way.
    pub(crate) fn begin_settling(&self, ticket: Ticket) -> Turn {
        let mut books = self.books();
        match books.held.get_mut(&ticket) {
            None => Turn::Lost(None),
            Some(held) if held.stage == Stage::Lost => Turn::Lost(Some(held.receipt.clone())),
            Some(Held { renewal: Some(renewal), .. }) => Turn::After(renewal.clone()),
            Some(held) => {
                let before = mem::replace(&mut held.stage, Stage::Settling);
                held.unbegun = before == Stage::Buffered;
                if before == Stage::Out {
                    self.idle.fetch_sub(1, Ordering::Relaxed);
                }
                Turn::Settle(held.receipt.clone(), held.term.deadline)
            }
        }
    }

    /// Closes the books on settled claims.
    pub(crate) fn conclude(&self, conclusions: impl Iterator<Item = Conclusion>) {
        let mut books = self.books();
        for (ticket, event, settled) in conclusions {
            // A claim whose settlement nobody waited for any longer has been counted when it was let go.
            if let Some(held) = books.remove(ticket) {
                books.tally.count(event, settled);
                // Whoever gives back what has waited has waited long enough.
                books.given_back |= event == Event::Release && !held.unbegun;
            }
        }
        Self::make_room(books);
    }

    /// Whether a message was given back since this was last asked: it is due at once and comes again.
    pub(crate) fn take_given_back(&self) -> bool {
        mem::take(&mut self.books().given_back)
    }

    /// Forgets a claim that its holder has dropped; does nothing to one that has been settled.
    pub(crate) fn let_go(&self, ticket: Ticket) -> bool {
        let mut books = self.books();
        let Some(held) = books.remove(ticket) else { return false };
        match held.stage {
            Stage::Lost => books.tally.superseded += 1,
            Stage::Out => {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                books.tally.unsettled += 1;
            }
            Stage::Buffered | Stage::Settling => books.tally.unsettled += 1,
        }
        Self::make_room(books);
        true
    }

    /// Forgets all claims, because nobody waits for any of them any longer.
    pub(crate) fn let_all_go(&self) {
        let all: Vec<Ticket> = self.books().held.keys().copied().collect();
        all.into_iter().for_each(|ticket| {
            self.let_go(ticket);
        });
    }

    /// Begins a renewal of those claims that `wanted` names and that nobody is renewing, settling or known to have lost;
    /// `None` if there are none.
    pub(crate) fn begin_renewal(
        &self,
        wanted: Wanted,
        renew: impl FnOnce(Vec<Ticket>, Vec<Receipt>) -> Renewal,
    ) -> Option<Renewal> {
        let mut books = self.books();
        let mut renewing: Vec<(&Ticket, &mut Held)> = match wanted {
            Wanted::One(ticket) => books.held.range_mut(ticket..=ticket).collect(),
            Wanted::DueBy(by, now) => {
                books.held.iter_mut().filter(|(_, held)| held.is_due(by, now)).collect()
            }
        };
        renewing.retain(|(_, held)| held.is_open() && held.renewal.is_none());
        if renewing.is_empty() {
            return None;
        }
        let tickets = renewing.iter().map(|(ticket, _)| **ticket).collect();
        let renewal = renew(tickets, renewing.iter().map(|(_, held)| held.receipt.clone()).collect());
        for (_, held) in &mut renewing {
            (held.renewal, held.asked) = (Some(renewal.clone()), true);
        }
        Some(renewal)
    }

    /// The renewal that a claim is part of now.
    pub(crate) fn renewal_of(&self, ticket: Ticket) -> Option<Renewal> {
        self.books().held.get(&ticket)?.renewal.clone()
    }

    /// The claim's receipt; `None` if it is lost.
    pub(crate) fn receipt(&self, ticket: Ticket) -> Option<Receipt> {
        let books = self.books();
        let held = books.held.get(&ticket).filter(|held| held.stage != Stage::Lost)?;
        Some(held.receipt.clone())
    }

    /// Ends a renewal: `renewed` has an answer for each ticket, or none at all if the store failed. What is not known yet is
    /// asked for again at the moment `again`. Returns the claims that turned out to be lost.
    pub(crate) fn conclude_renewal(
        &self,
        tickets: &[Ticket],
        renewed: Vec<Renewed>,
        term: Term,
        again: Duration,
    ) -> Arc<[Ticket]> {
        let mut lost = Vec::new();
        let mut ended = Vec::with_capacity(tickets.len());
        let mut books = self.books();
        for ticket in tickets {
            ended.extend(books.held.get_mut(ticket).map(|held| held.renewal.take()));
        }
        for (ticket, renewed) in tickets.iter().zip(renewed) {
            let Some(held) = books.held.get_mut(ticket) else { continue };
            match renewed {
                Renewed::Extended(receipt) => {
                    (held.receipt, held.term, held.asked) = (receipt, term, false);
                }
                Renewed::Superseded => {
                    self.lose(held);
                    lost.push(*ticket);
                }
                Renewed::Unknown => held.term.renew_at = again,
            }
        }
        drop(books);
        lost.into()
    }

    /// Marks those claims as lost that are out with a handler and past their deadline.
    pub(crate) fn expire(&self, now: Duration) -> Vec<Ticket> {
        let mut books = self.books();
        let expired =
            books.held.iter_mut().filter(|(_, held)| held.stage == Stage::Out && held.term.deadline <= now);
        expired
            .map(|(ticket, held)| {
                self.lose(held);
                *ticket
            })
            .collect()
    }

    /// The newest receipt of a claim that was lost although the store had been asked for more time before its deadline.
    pub(crate) fn asked_in_vain(&self, ticket: Ticket) -> Option<Receipt> {
        let books = self.books();
        let held = books.held.get(&ticket).filter(|held| held.stage == Stage::Lost && held.asked)?;
        Some(held.receipt.clone())
    }

    /// The first moment at which one of these claims is to be given back, if nobody has begun with it.
    pub(crate) fn give_back_at(&self, tickets: impl Iterator<Item = Ticket>) -> Option<Duration> {
        let books = self.books();
        tickets.filter_map(|ticket| Some(books.held.get(&ticket)?.term.give_back_at)).min()
    }

    /// The next moment at which a claim wants to be renewed, no earlier than `not_before`, or passes its deadline.
    pub(crate) fn next_due(&self, now: Duration, not_before: Duration) -> Option<Duration> {
        let books = self.books();
        let open = books.held.values().filter(|held| held.is_open() && held.term.deadline > now);
        open.map(|held| match held.renewal {
            Some(_) => held.term.deadline,
            None => held.term.renew_at.max(not_before).min(held.term.deadline),
        })
        .min()
    }

    /// How many claims have come in so far.
    pub(crate) fn taken(&self) -> u64 {
        self.books().next
    }

    /// What has become of all claims so far.
    pub(crate) fn tally(&self) -> PipelineReport {
        self.books().tally
    }

    fn lose(&self, held: &mut Held) {
        if mem::replace(&mut held.stage, Stage::Lost) == Stage::Out {
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Wakes the stream, if it waits for room, once the books are free again.
    fn make_room(mut books: MutexGuard<'_, Books>) {
        let waker = books.wants_room.take();
        drop(books);
        waker.into_iter().for_each(Waker::wake);
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which claims are to be renewed.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// This one.
    One(Ticket),
    /// All that are due by the first moment and not past their deadline at the second.
    DueBy(Duration, Duration),
}

impl Books {
    fn hold(&mut self, claimed: &Claimed, term: Term) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        let (receipt, bytes) = (claimed.receipt.clone(), claimed.message.payload.bytes().len());
        self.bytes += bytes;
        let (stage, renewal, asked, unbegun) = (Stage::Buffered, None, false, false);
        self.held.insert(ticket, Held { stage, bytes, receipt, term, renewal, asked, unbegun });
        ticket
    }

    fn remove(&mut self, ticket: Ticket) -> Option<Held> {
        let held = self.held.remove(&ticket)?;
        self.bytes -= held.bytes;
        Some(held)
    }
}

impl Held {
    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Buffered | Stage::Out)
    }

    fn is_due(&self, by: Duration, now: Duration) -> bool {
        self.term.renew_at <= by && self.term.deadline > now
    }
}
