mod queries;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::{
    ClaimId, ClaimRequest, Claimed, Disposition, Lease, Locator, MessageId, NewMessage, QueueName, Receipt,
    Renewed, Settled, Settlement, Timestamp,
};

use crate::{
    running::Running,
    said::Said,
    show::{kind, renewed_as, short, who},
    sim::{Process, Sim},
};

/// What has become of every message, as an observer of all calls and handlers knows it; each promise is checked as it is due.
pub(crate) struct Journal {
    sim: Sim,
    max_attempts: u32,
    hold: Hold,
    state: Mutex<State>,
}

/// How long a handler keeps a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// Until it is lost, so that no two handlers are ever at one.
    Exclusive,
    /// The same in a batch, whose handler may give a verdict on a message that is lost; it counts for nothing.
    ExclusiveInBatch,
    /// As long as it likes.
    Free,
    /// As long as it has others of the same batch; its verdict on one that is lost counts for nothing.
    Batch,
}

#[derive(Default)]
struct State {
    messages: BTreeMap<MessageId, Entry>,
    /// The verdict on each claim that was handed to a handler, once there is one.
    handled: BTreeMap<(MessageId, ClaimId), Option<Said>>,
    /// The claims that were ended by settlements.
    accepted: BTreeSet<(MessageId, ClaimId)>,
    /// Those whose settlements had a reason.
    with_reason: BTreeSet<(MessageId, ClaimId)>,
    /// The locators that a receipt of each claim may show.
    locators: BTreeMap<(MessageId, ClaimId), Vec<Locator>>,
    /// Some stream was dropped without being closed, so that attempts of what it had read ahead count and were not begun.
    is_abandoned: bool,
}

/// One message.
struct Entry {
    queue: QueueName,
    attempts: u32,
    /// How many attempts may still be taken back, because a release came too late.
    late: u32,
    lease: Option<(Claimed, Timestamp)>,
    end: Option<End>,
    /// How often a handler has begun with it, and which ones are at it.
    begun: u32,
    running: Vec<Process>,
}

/// How a message ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Done,
    Dead,
}

impl Journal {
    pub(crate) fn new(sim: &Sim, max_attempts: u32, hold: Hold) -> Arc<Self> {
        Arc::new(Self { sim: sim.clone(), max_attempts, hold, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message that is in the store now.
    pub(crate) fn enqueued(&self, message: &NewMessage) {
        self.state().insert(message);
    }

    /// A dead letter lives again.
    pub(crate) fn revived(&self, queue: &QueueName) {
        for entry in self.state().messages.values_mut() {
            if entry.end == Some(End::Dead) && entry.queue == *queue {
                (entry.end, entry.attempts, entry.late, entry.begun) = (None, 0, 0, 0);
            }
        }
    }

    /// A stream is dropped without being closed.
    pub(crate) fn abandoned(&self) {
        self.state().is_abandoned = true;
    }

    /// A message that waits to be due is taken out of the store.
    pub(crate) fn taken_out(&self, id: MessageId) {
        if let Some(entry) = self.state().messages.get_mut(&id) {
            entry.end.get_or_insert(End::Done);
        }
    }

    pub(crate) fn claimed(&self, request: &ClaimRequest, all: &[Claimed]) {
        let now = self.sim.store_now();
        let mut state = self.state();
        for claimed in all {
            let id = claimed.message.id;
            self.sim.trace(|| {
                format!(
                    "claimed {}, attempt {}, for {}",
                    short(id),
                    claimed.attempt,
                    who(claimed.receipt.claim)
                )
            });
            let Some(entry) = state.messages.get_mut(&id) else {
                return self.sim.fail(format!("{} was handed out and never enqueued", short(id)));
            };
            if let Some(end) = entry.end {
                self.sim.fail(format!("{} was handed out after its end: {end:?}", short(id)));
            }
            if entry.lease.as_ref().is_some_and(|(_, until)| *until > now) {
                self.sim.fail(format!("{} was handed out while it is leased", short(id)));
            }
            entry.attempts += 1;
            let allowed = entry.attempts.saturating_sub(entry.late)..=entry.attempts;
            if !allowed.contains(&claimed.attempt) {
                self.sim.fail(format!("{}: attempt {} is none of {allowed:?}", short(id), claimed.attempt));
            }
            entry.late = entry.late.saturating_sub(entry.attempts.saturating_sub(claimed.attempt));
            entry.attempts = claimed.attempt;
            entry.lease = Some((claimed.clone(), later(now, request.lease.duration())));
            let shown = vec![claimed.receipt.locator];
            state.locators.insert((id, claimed.receipt.claim), shown);
        }
    }

    /// A receipt is shown by a relay, in a call that is about to be sent.
    pub(crate) fn shows(&self, receipt: &Receipt) {
        let state = self.state();
        let known = state.locators.get(&(receipt.message, receipt.claim));
        if !known.is_some_and(|known| known.contains(&receipt.locator)) {
            self.sim.fail(format!(
                "{}: a receipt was shown that another one has replaced",
                short(receipt.message)
            ));
        }
    }

    pub(crate) fn renewed(&self, receipts: &[Receipt], lease: Lease, answers: &[Renewed]) {
        let until = later(self.sim.store_now(), lease.duration());
        let mut state = self.state();
        for (receipt, renewed) in receipts.iter().zip(answers) {
            let (id, is_newest) = (receipt.message, state.is_newest(receipt));
            self.sim.trace(|| {
                format!("renewed {} for {}: {}", short(id), who(receipt.claim), renewed_as(renewed))
            });
            match renewed {
                Renewed::Extended(new) => {
                    self.sim
                        .require(is_newest, || format!("{} was renewed for a claim that is lost", short(id)));
                    if let Some((_, end)) = state.messages.get_mut(&id).and_then(|entry| entry.lease.as_mut())
                    {
                        *end = until;
                    }
                    state.locators.entry((id, new.claim)).or_default().push(new.locator);
                }
                Renewed::Superseded => {
                    self.sim
                        .require(!is_newest, || format!("{}: the newest claim was not renewed", short(id)));
                }
                Renewed::Unknown => {}
            }
        }
    }

    /// The answers to a renewal have reached the relay, so that the receipts before are replaced.
    pub(crate) fn replaced(&self, answers: &[Renewed]) {
        let mut state = self.state();
        for renewed in answers {
            if let Renewed::Extended(new) = renewed {
                state.locators.insert((new.message, new.claim), vec![new.locator]);
            }
        }
    }

    pub(crate) fn settled(&self, settlement: &Settlement, answer: Settled) {
        let Settlement { receipt, disposition } = settlement;
        let (id, mut guard) = (receipt.message, self.state());
        let state = &mut *guard;
        let (is_newest, handled) =
            (state.is_newest(receipt), state.handled.get(&(id, receipt.claim)).copied());
        self.sim.trace(|| {
            format!("settled {} for {}: {} is {answer:?}", short(id), who(receipt.claim), kind(disposition))
        });
        let Some(entry) = state.messages.get_mut(&id) else {
            return self.sim.fail(format!("{} was settled and never enqueued", short(id)));
        };
        match answer {
            Settled::Accepted => {
                if !is_newest {
                    return self.sim.fail(format!("{}: a claim that is lost was settled", short(id)));
                }
                let attempt = entry.attempts;
                entry.lease = None;
                let is_first = state.accepted.insert((id, receipt.claim));
                if matches!(disposition, Disposition::Retry { .. } | Disposition::Dead { .. }) {
                    state.with_reason.insert((id, receipt.claim));
                }
                self.sim.require(is_first, || format!("{}: a claim was settled twice", short(id)));
                match disposition {
                    Disposition::Done { .. } => entry.end = Some(End::Done),
                    Disposition::Dead { .. } => entry.end = Some(End::Dead),
                    Disposition::Retry { .. } => {}
                    Disposition::Postponed { .. } | Disposition::Returned => entry.attempts -= 1,
                }
                if !self.may_settle(disposition, handled, attempt) {
                    let kind = kind(disposition);
                    self.sim.fail(format!(
                        "{}: {kind} of attempt {attempt}, but the handler said {handled:?}",
                        short(id)
                    ));
                }
                if matches!(disposition, Disposition::Dead { .. }) {
                    let counted = if state.is_abandoned { attempt } else { entry.begun };
                    let is_excused = handled == Some(Some(Said::Bury)) || counted >= self.max_attempts;
                    let holds = is_excused || !self.sim.weather_at_first().counts_only_failures();
                    self.sim.require(holds, || {
                        format!("{} is dead and was begun {} times", short(id), entry.begun)
                    });
                }
            }
            Settled::Superseded => {
                self.sim.require(!is_newest, || format!("{}: the newest claim was refused", short(id)));
                entry.late += u32::from(*disposition == Disposition::Returned);
            }
            Settled::Unknown => {}
        }
        if answer == Settled::Accepted {
            disposition.emitted().iter().for_each(|child| state.insert(child));
        }
    }

    /// Whether a claim may end so, after what its handler said: `None` without a handler, `Some(None)` without a verdict.
    fn may_settle(&self, disposition: &Disposition, handled: Option<Option<Said>>, attempt: u32) -> bool {
        let has_failed = matches!(handled, Some(None | Some(Said::Nack)));
        match disposition {
            Disposition::Done { .. } => handled == Some(Some(Said::Ack)),
            Disposition::Retry { .. } => has_failed,
            Disposition::Postponed { .. } => handled == Some(Some(Said::Postpone)),
            Disposition::Dead { .. } => {
                handled == Some(Some(Said::Bury))
                    || has_failed && attempt >= self.max_attempts
                    || attempt > self.max_attempts
            }
            Disposition::Returned => {
                let may_be_lost = matches!(self.hold, Hold::Batch | Hold::ExclusiveInBatch)
                    && !self.sim.weather_at_first().counts_only_failures();
                may_be_lost || matches!(handled, None | Some(None | Some(Said::Release)))
            }
        }
    }

    /// A handler begins with a message; what it answers has to be kept while the handler is at it.
    pub(crate) fn begins(self: &Arc<Self>, process: Process, claimed: &Claimed) -> Running {
        let (id, claim) = (claimed.message.id, claimed.receipt.claim);
        self.sim.trace(|| format!("{process:?} begins with {}, attempt {}", short(id), claimed.attempt));
        let mut state = self.state();
        state.handled.insert((id, claim), None);
        if let Some(entry) = state.messages.get_mut(&id) {
            let is_exclusive = matches!(self.hold, Hold::Exclusive | Hold::ExclusiveInBatch)
                && self.sim.weather_at_first().keeps_leases();
            let is_shared = is_exclusive && !entry.running.is_empty();
            entry.begun += 1;
            entry.running.push(process);
            self.sim.require(!is_shared, || format!("two handlers are at {}", short(id)));
            let most = self.max_attempts;
            self.sim.require(claimed.attempt <= most, || {
                format!("{} is begun for the {}th time", short(id), claimed.attempt)
            });
        }
        Running { journal: Arc::clone(self), id, claim, process }
    }

    pub(crate) fn said(&self, process: Process, id: MessageId, claim: ClaimId, said: Said) {
        self.sim.trace(|| format!("{process:?} says {said:?} of {}", short(id)));
        self.state().handled.insert((id, claim), Some(said));
    }

    /// A handler has left a message, with or without a verdict.
    pub(crate) fn leaves(&self, process: Process, id: MessageId) {
        let mut state = self.state();
        if let Some(entry) = state.messages.get_mut(&id)
            && let Some(at) = entry.running.iter().position(|running| *running == process)
        {
            entry.running.swap_remove(at);
        }
    }
}

impl State {
    fn insert(&mut self, message: &NewMessage) {
        let entry = Entry {
            queue: message.queue.clone(),
            attempts: 0,
            late: 0,
            lease: None,
            end: None,
            begun: 0,
            running: Vec::new(),
        };
        // An id is new again when its message is done; a dead letter keeps its id.
        if self.messages.get(&message.id).is_none_or(|known| known.end == Some(End::Done)) {
            self.messages.insert(message.id, entry);
        }
    }

    fn is_newest(&self, receipt: &Receipt) -> bool {
        let lease = self.messages.get(&receipt.message).and_then(|entry| entry.lease.as_ref());
        lease.is_some_and(|(claimed, _)| claimed.receipt.claim == receipt.claim)
    }
}

fn later(moment: Timestamp, by: Duration) -> Timestamp {
    let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(moment.as_micros().saturating_add(micros)).unwrap_or(Timestamp::MAX)
}
