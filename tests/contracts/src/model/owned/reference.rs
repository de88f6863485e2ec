use std::collections::{BTreeMap, BTreeSet, HashMap};

use claimstream_domain::{ClaimId, Claimed, Disposition, Enqueued, Reason, Receipt, Settled};

/// What `shard_lease` has to do with one shard, in memory: the queue, the lease row, and the books of each process.
///
/// It does not say which of the due messages come next. It follows what was handed out, and answers an error for what must
/// not have been, or for what was held up. Messages go by the order in which they were made, moments by microseconds.
#[derive(Default)]
pub(super) struct Reference {
    pub(super) queue: BTreeMap<usize, Entry>,
    pub(super) dead: BTreeMap<usize, Letter>,
    keys: HashMap<&'static str, usize>,
    row: Row,
    books: HashMap<usize, Books>,
}

/// A message that waits or is in flight.
#[derive(Clone, Default)]
pub(super) struct Entry {
    pub(super) due: i64,
    pub(super) attempts: u32,
    pub(super) last_error: Option<Reason>,
    /// An attempt was cut off, and no attempt has survived since.
    pub(super) suspect: bool,
}

/// A message that was given up.
pub(super) struct Letter {
    pub(super) attempts: u32,
    pub(super) reason: Reason,
    pub(super) died_at: i64,
}

/// The lease row of the shard.
#[derive(Default)]
struct Row {
    holder: Option<usize>,
    fence: u64,
    until: i64,
    /// Each with the due time under which it was noted.
    flights: BTreeMap<usize, i64>,
    in_flight: usize,
}

/// What a process has in flight by its own account.
#[derive(Default)]
struct Books {
    fence: u64,
    flights: BTreeMap<usize, Flight>,
}

#[derive(Clone, Copy)]
struct Flight {
    claim: ClaimId,
    due: i64,
    deadline: i64,
    alone: bool,
}

type Held = Result<(), String>;

fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Held {
    if holds { Ok(()) } else { Err(otherwise()) }
}

impl Reference {
    pub(super) fn enqueue(&mut self, n: usize, due: i64, key: Option<&'static str>) -> Enqueued {
        let is_known = self.queue.contains_key(&n) || self.dead.contains_key(&n);
        if is_known || key.is_some_and(|key| self.keys.contains_key(key)) {
            return Enqueued::Duplicate;
        }
        self.keys.extend(key.map(|key| (key, n)));
        self.queue.insert(n, Entry { due, ..Entry::default() });
        Enqueued::New
    }

    /// All that is finished is forgotten.
    pub(super) fn sweep(&mut self) {
        let Self { keys, queue, dead, .. } = self;
        keys.retain(|_, n| queue.contains_key(n) || dead.contains_key(n));
    }

    pub(super) fn revive(&mut self, now: i64) -> u64 {
        let revived = std::mem::take(&mut self.dead);
        let count = revived.len() as u64;
        self.queue.extend(revived.into_keys().map(|n| (n, Entry { due: now, ..Entry::default() })));
        count
    }

    pub(super) fn purge(&mut self, dead_for: i64, now: i64) -> u64 {
        let before = self.dead.len();
        self.dead.retain(|_, letter| now - letter.died_at < dead_for);
        (before - self.dead.len()) as u64
    }

    /// Follows one claim: what came, by number.
    pub(super) fn claimed(&mut self, by: usize, lease: i64, came: &[(usize, &Claimed)], now: i64) -> Held {
        if came.is_empty() {
            return Ok(());
        }
        let Row { holder, until, .. } = self.row;
        must(self.admits(by, now), || {
            format!("process {by} entered a shard that {holder:?} holds until {until}")
        })?;
        if holder.is_some_and(|holder| holder != by) {
            self.take_over();
        }
        let (fence, was_free) = (self.row.fence, self.row.holder.is_none());
        let books = self.books.entry(by).or_default();
        if books.fence != fence {
            books.flights.clear();
        }
        self.row.fence += u64::from(was_free || books.flights.is_empty());
        books.fence = self.row.fence;
        for (n, claimed) in came {
            self.fly(by, *n, claimed, now, lease, came.len())?;
        }
        self.write_books(by);
        Ok(())
    }

    fn admits(&self, by: usize, now: i64) -> bool {
        self.row.holder.is_none_or(|holder| holder == by) || self.row.until <= now
    }

    /// Counts an attempt for what was in flight under a lease that has run out.
    fn take_over(&mut self) {
        let flights = std::mem::take(&mut self.row.flights);
        for (n, due) in flights {
            if let Some(entry) = self.queue.get_mut(&n).filter(|entry| entry.due == due) {
                (entry.attempts, entry.suspect) = (entry.attempts + 1, true);
            }
        }
        (self.row.holder, self.row.in_flight) = (None, 0);
        self.row.fence += 1;
    }

    fn fly(&mut self, by: usize, n: usize, claimed: &Claimed, now: i64, lease: i64, together: usize) -> Held {
        let books = self.books.entry(by).or_default();
        let entry =
            self.queue.get_mut(&n).ok_or_else(|| format!("{n} was handed out and is not in the queue"))?;
        must(entry.due <= now, || format!("{n} was handed out before it is due"))?;
        let Receipt { claim, locator, .. } = claimed.receipt;
        if let Some(flight) = books.flights.get(&n) {
            must(flight.deadline <= now && flight.claim != claim, || format!("{n} is held twice"))?;
            (entry.attempts, entry.suspect) = (entry.attempts + 1, false);
        }
        must(claimed.attempt == entry.attempts + 1, || {
            format!("{n} was handed out as attempt {} behind {}", claimed.attempt, entry.attempts)
        })?;
        must(claimed.last_error == entry.last_error, || format!("{n} has forgotten why it failed"))?;
        must(locator.0 == entry.due, || format!("{n} has a receipt for another due time"))?;
        let mut aloft = books.flights.iter().filter(|(other, flight)| **other != n && flight.deadline > now);
        let has_company = aloft.clone().next().is_some() || together > 1;
        must(!(entry.suspect && has_company), || format!("{n} was cut off and is not handed out alone"))?;
        must(!aloft.any(|(_, flight)| flight.alone), || {
            format!("{n} was handed out together with one that was cut off")
        })?;
        let flight = Flight { claim, due: entry.due, deadline: now + lease, alone: entry.suspect };
        books.flights.insert(n, flight);
        Ok(())
    }

    /// Writes the books of a process into the row; with nothing in flight the shard is free.
    fn write_books(&mut self, by: usize) {
        let flights = &self.books.entry(by).or_default().flights;
        self.row.until = flights.values().map(|flight| flight.deadline).max().unwrap_or_default();
        self.row.flights = flights.iter().map(|(n, flight)| (*n, flight.due)).collect();
        self.row.in_flight = flights.len();
        self.row.holder = (!flights.is_empty()).then_some(by);
    }

    /// Whether a process that finds nothing any more is right.
    pub(super) fn is_exhausted(&self, by: usize, now: i64) -> Held {
        if !self.admits(by, now) {
            return Ok(());
        }
        let none = BTreeMap::new();
        let ours = self.row.holder == Some(by);
        let flights = self.books.get(&by).filter(|books| ours && books.fence == self.row.fence);
        let flights = flights.map_or(&none, |books| &books.flights);
        let aloft: Vec<_> = flights.iter().filter(|(_, flight)| flight.deadline > now).collect();
        if aloft.iter().any(|(_, flight)| flight.alone) {
            return Ok(());
        }
        let mut waiting: Vec<_> = self.queue.iter().filter(|(_, entry)| entry.due <= now).collect();
        waiting.retain(|(n, _)| aloft.iter().all(|(flying, _)| flying != n));
        waiting.sort_by_key(|(n, entry)| (entry.due, **n));
        match waiting.first() {
            None => Ok(()),
            Some((n, entry)) if entry.suspect && !flights.contains_key(n) => {
                must(!aloft.is_empty(), || format!("{n} was cut off, and is held up by nothing"))
            }
            Some((n, _)) => Err(format!("{n} is held up by nothing")),
        }
    }

    /// Settles a batch: as a whole, or, if anything of it is lost, one after another.
    pub(super) fn settle(&mut self, by: usize, batch: &[Ending], now: i64) -> Vec<Settled> {
        if self.is_proven(by) && self.are_held(by, batch) {
            self.write_ends(by, batch, now);
            return vec![Settled::Accepted; batch.len()];
        }
        let mut one = |ending: &Ending| {
            let ending = std::slice::from_ref(ending);
            let (held, proven) = (self.are_held(by, ending), self.is_proven(by));
            match held && proven {
                true => self.write_ends(by, ending, now),
                false if held => drop(self.books.entry(by).or_default().flights.remove(&ending[0].n)),
                false => return Settled::Superseded,
            }
            if proven { Settled::Accepted } else { Settled::Superseded }
        };
        let settled: Vec<_> = batch.iter().map(&mut one).collect();
        for (ending, _) in batch.iter().zip(&settled).filter(|(_, settled)| **settled == Settled::Superseded)
        {
            self.give_back_too_late(ending);
        }
        settled
    }

    /// Takes back the attempt and the suspicion that a take-over has counted against messages whose handlers had not begun.
    fn give_back_too_late(&mut self, Ending { n, receipt, disposition, .. }: &Ending) {
        let entry = self.queue.get_mut(n).filter(|entry| entry.suspect && entry.due == receipt.locator.0);
        if let Some(entry) = entry.filter(|entry| *disposition == Disposition::Returned && entry.attempts > 0)
        {
            (entry.attempts, entry.suspect) = (entry.attempts - 1, false);
        }
    }

    fn is_proven(&self, by: usize) -> bool {
        let fence = self.books.get(&by).map(|books| books.fence);
        self.row.holder == Some(by) && fence == Some(self.row.fence)
    }

    fn are_held(&self, by: usize, batch: &[Ending]) -> bool {
        let mut seen = BTreeSet::new();
        batch.iter().all(|ending| seen.insert(ending.n) && self.holds(by, ending.n, &ending.receipt))
    }

    fn holds(&self, by: usize, n: usize, receipt: &Receipt) -> bool {
        let flight = self.books.get(&by).and_then(|books| books.flights.get(&n));
        flight.is_some_and(|flight| flight.claim == receipt.claim && flight.due == receipt.locator.0)
    }

    fn write_ends(&mut self, by: usize, batch: &[Ending], now: i64) {
        for Ending { n, disposition, children, .. } in batch {
            self.books.entry(by).or_default().flights.remove(n);
            self.end(*n, disposition, now);
            self.queue.extend(children.iter().map(|n| (*n, Entry { due: now, ..Entry::default() })));
        }
        let left = self.books.entry(by).or_default().flights.len();
        match left > 0 && batch.iter().all(|end| matches!(end.disposition, Disposition::Done { .. })) {
            // The list in the row and the end of the lease stay as they are: what is done cannot come back.
            true => self.row.in_flight = left,
            false => self.write_books(by),
        }
    }

    fn end(&mut self, n: usize, disposition: &Disposition, now: i64) {
        let Some(entry) = self.queue.get_mut(&n) else { return };
        match disposition {
            Disposition::Returned => {}
            Disposition::Retry { after, reason } | Disposition::Postponed { after, reason } => {
                let due = now + i64::try_from(after.as_micros()).unwrap_or(i64::MAX);
                let counted = u32::from(matches!(disposition, Disposition::Retry { .. }));
                *entry = Entry {
                    due,
                    attempts: entry.attempts + counted,
                    last_error: Some(reason.clone()),
                    suspect: false,
                };
            }
            Disposition::Done { .. } => drop(self.queue.remove(&n)),
            Disposition::Dead { reason, .. } => {
                let letter = Letter { attempts: entry.attempts + 1, reason: reason.clone(), died_at: now };
                self.queue.remove(&n);
                self.dead.insert(n, letter);
            }
        }
    }

    /// Renews claims, and says for each whether it was extended.
    pub(super) fn renew(&mut self, by: usize, claims: &[(usize, Receipt)], until: i64) -> Vec<bool> {
        let held: Vec<bool> = claims.iter().map(|(n, receipt)| self.holds(by, *n, receipt)).collect();
        if !held.contains(&true) {
            return held;
        }
        let proven = self.is_proven(by);
        let flights = &mut self.books.entry(by).or_default().flights;
        if !proven {
            flights.clear();
            return vec![false; claims.len()];
        }
        for ((n, _), _) in claims.iter().zip(&held).filter(|(_, held)| **held) {
            flights.entry(*n).and_modify(|flight| flight.deadline = until);
        }
        self.write_books(by);
        held
    }

    /// Whether anything of a process has run out in its own books.
    pub(super) fn has_lapsed(&self, by: usize, now: i64) -> bool {
        self.books.get(&by).is_some_and(|books| books.flights.values().any(|flight| flight.deadline <= now))
    }

    /// Depth, due, leased, dead letters, and how long the oldest has waited.
    pub(super) fn numbers(&self, now: i64) -> Option<(u64, u64, u64, u64, Option<i64>)> {
        let holds = self.row.until > now && self.row.in_flight > 0;
        let leased = if holds { self.row.in_flight as u64 } else { 0 };
        let due = self.queue.values().filter(|entry| entry.due <= now).count() as u64 - leased;
        let waits = self.queue.iter().filter(|(n, _)| !(holds && self.row.flights.contains_key(n)));
        let oldest = waits.map(|(_, entry)| entry.due).filter(|due| *due <= now).min();
        let (depth, dead) = (self.queue.len() as u64, self.dead.len() as u64);
        (depth + dead > 0).then_some((depth, due, leased, dead, oldest.map(|due| now - due)))
    }
}

/// A settlement, with the numbers of its message and its children.
pub(super) struct Ending {
    pub(super) n: usize,
    pub(super) receipt: Receipt,
    pub(super) disposition: Disposition,
    pub(super) children: Vec<usize>,
}
