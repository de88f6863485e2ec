use std::collections::{BTreeMap, BTreeSet, HashMap};

use claimstream_domain::{
    ClaimId, ClaimRequest, Claimed, DeadLetter, DeadLetterFilter, DeadLetterListed, DeadLetterPlace,
    DedupKey, DedupKeyTaken, Disposition, Event, IllegalTransition, Lease, Message, MessageCarried,
    MessageId, MessageKept, MessageStanding, NewMessage, Payload, QueueName, QueueStatus, Reason, Receipt,
    Renewed, Settled, Settlement, State, Timestamp, is_due,
    notification::ERASED,
    timer_event::{Tick, TimerListed},
};

use super::{dead::Dead, row::Row};
use crate::clock::{after, between};

/// The outbox as it has been committed: waiting messages, dead letters, and used dedup keys until they are swept.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    rows: BTreeMap<MessageId, Row>,
    /// The ids of each queue's rows, in the order in which they come due.
    order: BTreeMap<QueueName, BTreeSet<(Timestamp, MessageId)>>,
    dead: BTreeMap<MessageId, Dead>,
    keys: HashMap<(QueueName, DedupKey), KeyOwner>,
}

/// The message that a dedup key was taken by, and when.
#[derive(Debug)]
struct KeyOwner {
    message: MessageId,
    since: Timestamp,
}

impl Outbox {
    /// Whether a message with this identity or dedup key is here already; a key does not stand in its own message's way.
    pub(crate) fn knows(&self, message: &NewMessage) -> bool {
        let key = message.dedup_key.as_ref().map(|key| (message.queue.clone(), key.clone()));
        self.is_here(message.id)
            || key.and_then(|key| self.keys.get(&key)).is_some_and(|owner| owner.message != message.id)
    }

    /// Whether a message is in its queue or a dead letter.
    pub(crate) fn is_here(&self, id: MessageId) -> bool {
        self.rows.contains_key(&id) || self.dead.contains_key(&id)
    }

    /// The payload of a message that is not finished.
    pub(crate) fn payload(&self, id: MessageId) -> Option<&Payload> {
        self.rows.get(&id).map(|row| &row.message.payload)
    }

    /// Takes a new message in.
    pub(crate) fn enqueue(&mut self, row: Row, now: Timestamp) {
        if let Some(key) = &row.dedup_key {
            let owner = KeyOwner { message: row.message.id, since: now };
            self.keys.entry((row.message.queue.clone(), key.clone())).or_insert(owner);
        }
        self.insert(row);
    }

    /// Forgets the keys of messages that were taken in before the bound and are neither live nor dead letters.
    pub(crate) fn forget_keys(&mut self, bound: Timestamp) -> u64 {
        let Self { keys, rows, dead, .. } = self;
        let known = keys.len();
        keys.retain(|_, KeyOwner { message, since }| {
            *since >= bound || rows.contains_key(message) || dead.contains_key(message)
        });
        (known - keys.len()) as u64
    }

    /// The timers whose ticks have dedup keys here, each with its newest occurrence, by queue and key.
    pub(crate) fn timers(&self) -> Vec<TimerListed> {
        let mut newest: BTreeMap<(QueueName, String), Tick> = BTreeMap::new();
        for (queue, key) in self.keys.keys() {
            let Some(tick) = Tick::of_key(key.as_str()) else { continue };
            let (place, _) = TimerListed::keys_of(&tick.scheme);
            let known = newest.entry((queue.clone(), place)).or_insert_with(|| tick.clone());
            known.occurrence = known.occurrence.max(tick.occurrence);
        }
        newest.into_iter().map(|((queue, _), tick)| TimerListed::of(queue, &tick)).collect()
    }

    fn insert(&mut self, row: Row) {
        let id = row.message.id;
        self.order.entry(row.message.queue.clone()).or_default().insert((row.available_at, id));
        self.rows.insert(id, row);
    }

    pub(crate) fn claim(
        &mut self,
        request: &ClaimRequest,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, IllegalTransition> {
        let until = after(now, request.lease.duration());
        let mut claimed = Vec::new();
        for id in self.claimable(request, now) {
            claimed.extend(self.lease(id, request.claim, now, until)?);
        }
        Ok(claimed)
    }

    /// Due messages, oldest first, without those that this very claim has taken before.
    fn claimable(&self, request: &ClaimRequest, now: Timestamp) -> Vec<MessageId> {
        let due = self.due(&request.queue, now);
        let others = due.filter(|row| row.claim != Some(request.claim));
        let some: Vec<&Row> = others.take(request.limit as usize).collect();
        let payloads = some.iter().map(|row| row.message.payload.bytes().len());
        let fitting = request.budget.fitting(None, payloads);
        some[..fitting].iter().map(|row| row.message.id).collect()
    }

    fn due(&self, queue: &QueueName, now: Timestamp) -> impl Iterator<Item = &Row> {
        let order = self.order.get(queue).into_iter().flatten();
        order.take_while(move |(at, _)| is_due(*at, now)).filter_map(|(_, id)| self.rows.get(id))
    }

    fn lease(
        &mut self,
        id: MessageId,
        claim: ClaimId,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<Claimed>, IllegalTransition> {
        let Some(row) = self.rows.get(&id) else { return Ok(None) };
        row.claimable_state(now)?.next(Event::Claim)?;
        let Some(mut row) = self.remove(id) else { return Ok(None) };
        row.claimed_from = row.available_at;
        row.available_at = until;
        row.claim = Some(claim);
        row.attempts += 1;
        let claimed = row.claimed(claim, now);
        self.insert(row);
        Ok(Some(claimed))
    }

    /// Ends one claim; the children of a `Done` are answered for the caller to insert.
    pub(crate) fn settle(
        &mut self,
        settlement: &Settlement,
        now: Timestamp,
    ) -> Result<Settled, IllegalTransition> {
        State::Leased.next(settlement.disposition.event())?;
        let Some(mut row) = self.take_if_held(&settlement.receipt) else {
            if settlement.disposition == Disposition::Returned {
                self.take_back(&settlement.receipt, now);
            }
            return Ok(Settled::Superseded);
        };
        match &settlement.disposition {
            Disposition::Done { .. } => {}
            Disposition::Retry { after: delay, reason } => {
                row.put_off(after(now, *delay), reason.clone());
                self.insert(row);
            }
            Disposition::Postponed { after: delay, reason } => {
                row.attempts -= 1;
                row.put_off(after(now, *delay), reason.clone());
                self.insert(row);
            }
            Disposition::Dead { reason, .. } => self.bury(row, reason.clone(), now),
            Disposition::Returned => {
                row.give_back();
                self.insert(row);
            }
        }
        Ok(Settled::Accepted)
    }

    pub(crate) fn renew(&mut self, receipt: &Receipt, lease: Lease, now: Timestamp) -> Renewed {
        let Some(mut row) = self.take_if_held(receipt) else { return Renewed::Superseded };
        row.available_at = after(now, lease.duration());
        let renewed = row.receipt(receipt.claim);
        self.insert(row);
        Renewed::Extended(renewed)
    }

    /// Takes back the attempt that was counted for a claim when the next claim took its message, once, while that holds it.
    fn take_back(&mut self, receipt: &Receipt, now: Timestamp) {
        let Some(row) = self.rows.get_mut(&receipt.message) else { return };
        let is_next = row.claim.is_some_and(|claim| claim != receipt.claim)
            && row.message.queue == receipt.queue
            && row.claimed_from.as_micros() == receipt.locator.0
            && row.available_at > now;
        if is_next && row.attempts > 1 {
            row.attempts -= 1;
            row.claimed_from = before(row.claimed_from);
        }
    }

    /// The fence: takes a row out only for the claim that took it last.
    fn take_if_held(&mut self, receipt: &Receipt) -> Option<Row> {
        let row = self.rows.get(&receipt.message)?;
        let held = row.claim == Some(receipt.claim) && row.message.queue == receipt.queue;
        if held { self.remove(receipt.message) } else { None }
    }

    fn remove(&mut self, id: MessageId) -> Option<Row> {
        let row = self.rows.remove(&id)?;
        if let Some(order) = self.order.get_mut(&row.message.queue) {
            order.remove(&(row.available_at, id));
        }
        Some(row)
    }

    fn bury(&mut self, row: Row, reason: Reason, now: Timestamp) {
        let Row { message, attempts, stored_at, first_at, .. } = row;
        let first_at = first_at.unwrap_or(stored_at);
        self.dead.insert(message.id, Dead { message, attempts, reason, died_at: now, first_at });
    }

    /// The dead letters that match, newest first.
    pub(crate) fn dead_letters(&self, filter: &DeadLetterFilter, now: Timestamp) -> Vec<DeadLetter> {
        self.matching(filter, now).into_iter().map(|dead| dead.letter(now)).collect()
    }

    /// The dead letters that match without what they carry, each with its place, newest first.
    pub(crate) fn dead_letter_list(
        &self,
        filter: &DeadLetterFilter,
        now: Timestamp,
    ) -> Vec<(DeadLetterPlace, DeadLetterListed)> {
        self.matching(filter, now).into_iter().map(|dead| (dead.place(), dead.listed(now))).collect()
    }

    fn matching(&self, filter: &DeadLetterFilter, now: Timestamp) -> Vec<&Dead> {
        let mut matching: Vec<&Dead> = self.dead.values().filter(|dead| dead.matches(filter, now)).collect();
        matching.sort_by_key(|dead| std::cmp::Reverse((dead.died_at, dead.message.id)));
        matching
    }

    /// Where a message stands that is in its queue or a dead letter.
    pub(crate) fn standing(&self, id: MessageId, now: Timestamp) -> Option<MessageStanding> {
        let queued = self.rows.get(&id).map(|row| row.standing(now));
        queued.or_else(|| self.dead.get(&id).map(|dead| dead.standing(now)))
    }

    /// What is kept of a message that is not finished, and not a dead letter.
    pub(crate) fn kept(&self, id: MessageId, now: Timestamp) -> Option<MessageKept> {
        self.rows.get(&id).map(|row| row.kept(now))
    }

    /// What such a message carries.
    pub(crate) fn carried(&self, id: MessageId) -> Option<MessageCarried> {
        let Message { headers, payload, .. } = &self.rows.get(&id)?.message;
        Some(MessageCarried { headers: headers.clone(), payload: payload.clone() })
    }

    /// The message that has taken a dedup key, and how long ago.
    pub(crate) fn keyed(&self, queue: &QueueName, key: &DedupKey, now: Timestamp) -> Option<DedupKeyTaken> {
        let KeyOwner { message, since } = self.keys.get(&(queue.clone(), key.clone()))?;
        Some(DedupKeyTaken { by: *message, ago: between(*since, now) })
    }

    pub(crate) fn revive(
        &mut self,
        filter: &DeadLetterFilter,
        now: Timestamp,
    ) -> Result<u64, IllegalTransition> {
        State::Dead.next(Event::Revive)?;
        let dead = self.exhume(filter, now);
        let revived = dead.len() as u64;
        for dead in dead {
            self.insert(dead.revived(now));
        }
        Ok(revived)
    }

    pub(crate) fn purge(&mut self, filter: &DeadLetterFilter, now: Timestamp) -> u64 {
        self.exhume(filter, now).len() as u64
    }

    fn exhume(&mut self, filter: &DeadLetterFilter, now: Timestamp) -> Vec<Dead> {
        self.dead.extract_if(.., |_, dead| dead.matches(filter, now)).map(|(_, dead)| dead).collect()
    }

    /// Takes a message out that is not claimed and not due.
    pub(crate) fn call_off(&mut self, id: MessageId, now: Timestamp) {
        if self.rows.get(&id).is_some_and(|row| row.claim.is_none() && !is_due(row.available_at, now)) {
            self.remove(id);
        }
    }

    /// The payloads of a message, live and dead.
    pub(crate) fn payloads(&self, id: MessageId) -> impl Iterator<Item = &Payload> {
        let live = self.rows.get(&id).map(|row| &row.message.payload);
        let dead = self.dead.get(&id).map(|dead| &dead.message.payload);
        live.into_iter().chain(dead)
    }

    /// Gives a message another payload: how many live messages and dead letters that were.
    pub(crate) fn replace(&mut self, id: MessageId, payload: &Payload) -> (u64, u64) {
        let live = self.rows.get_mut(&id).map(|row| row.message.payload = payload.clone());
        let dead = self.dead.get_mut(&id).map(|dead| {
            dead.message.payload = payload.clone();
            dead.reason = Reason::new(ERASED);
        });
        (live.iter().count() as u64, dead.iter().count() as u64)
    }

    /// How many messages of a queue are claimed.
    pub(crate) fn leased(&self, queue: &str, now: Timestamp) -> u64 {
        let of_queue = self.rows.values().filter(|row| row.message.queue.as_str() == queue);
        of_queue.filter(|row| row.claim.is_some() && !is_due(row.available_at, now)).count() as u64
    }

    pub(crate) fn observe(&self, now: Timestamp) -> Vec<QueueStatus> {
        let live = self.rows.values().map(|row| &row.message.queue);
        let dead = self.dead.values().map(|dead| &dead.message.queue);
        let queues: BTreeSet<&QueueName> = live.chain(dead).collect();
        queues.into_iter().map(|queue| self.status(queue, now)).collect()
    }

    fn status(&self, queue: &QueueName, now: Timestamp) -> QueueStatus {
        let rows = || self.rows.values().filter(|row| row.message.queue == *queue);
        let leased = |row: &&Row| row.claim.is_some() && !is_due(row.available_at, now);
        let retrying = |row: &&Row| row.claim.is_none() && row.attempts > 0 && !is_due(row.available_at, now);
        QueueStatus {
            queue: queue.clone(),
            depth: rows().count() as u64,
            due: self.due(queue, now).count() as u64,
            leased: rows().filter(leased).count() as u64,
            retrying: rows().filter(retrying).count() as u64,
            oldest: self.due(queue, now).next().map(|row| between(row.available_at, now)),
            dead: self.dead.values().filter(|dead| dead.message.queue == *queue).count() as u64,
            stray: 0,
        }
    }
}

/// A microsecond earlier, so that an attempt is not taken back twice.
fn before(moment: Timestamp) -> Timestamp {
    Timestamp::from_micros(moment.as_micros() - 1).unwrap_or(moment)
}
