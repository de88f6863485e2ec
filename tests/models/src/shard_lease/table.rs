use super::{Holder, MAX_ATTEMPTS, Request, Wish};

/// What the store has: the lease row of a shard, and its messages.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Table {
    /// The lease.
    pub row: Row,
    /// What lies in the shard.
    pub messages: Vec<Message>,
}

/// The lease row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Row {
    /// Whose it is.
    pub holder: Holder,
    /// Grows with each new holder.
    pub fence: i8,
    /// It has run out.
    pub over: bool,
    /// What is in flight.
    pub flights: Vec<bool>,
}

/// A message, and what the promises have to know about its past.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Message {
    /// It is done or dead.
    pub ended: bool,
    /// How many attempts were counted.
    pub attempts: u8,
    /// Past: how often its handler was begun.
    pub begun: u8,
    /// Past: a settlement was accepted from a hand that was not the newest.
    pub stale: bool,
    /// Past: a failed attempt was accepted twice.
    pub doubled: bool,
    /// Past: it was handed out after it had ended.
    pub raised: bool,
}

impl Row {
    /// Whether messages may be taken by this holder.
    pub(super) fn admits(&self, by: Holder) -> bool {
        self.is_free() || self.holder == by
    }

    /// Whether any process may take it: it has no holder, or was kept by one with nothing in flight until the time was over.
    pub(super) fn is_free(&self) -> bool {
        self.holder == Holder::Free || (self.over && !self.flights.contains(&true))
    }

    /// Whether a write of this holder under this fence finds the row: where it is the holder's, or `free`.
    pub(super) fn is_proven(&self, fence: i8, by: Holder, free: bool) -> bool {
        self.fence == fence && (self.holder == by || (free && self.is_free()))
    }
}

impl Table {
    pub(super) fn with(messages: usize) -> Self {
        let message =
            Message { ended: false, attempts: 0, begun: 0, stale: false, doubled: false, raised: false };
        let row = Row { holder: Holder::Free, fence: 0, over: false, flights: vec![false; messages] };
        Self { row, messages: vec![message; messages] }
    }

    /// Ends a lease that has run out, or that an operator releases, under a new fence.
    pub(super) fn end_lease(&mut self, charges: bool) {
        for (message, flies) in self.messages.iter_mut().zip(&mut self.row.flights) {
            if std::mem::take(flies) && charges {
                message.count();
            }
        }
        (self.row.holder, self.row.over) = (Holder::Free, false);
        self.row.fence += 1;
    }

    /// Writes a claim into the row.
    pub(super) fn take(&mut self, by: usize, message: usize, begins: bool, lapsed: bool, flights: Vec<bool>) {
        if lapsed {
            self.messages[message].count();
        }
        self.row.fence += i8::from(begins);
        self.extend(by, flights);
    }

    /// Puts the end of the lease off.
    pub(super) fn extend(&mut self, by: usize, flights: Vec<bool>) {
        (self.row.holder, self.row.over, self.row.flights) = (Holder::Process(by), false, flights);
    }

    /// Ends a claim; with the last one the shard is free, or its holder keeps it for a time.
    pub(super) fn settle(&mut self, request: &Request) {
        let message = &mut self.messages[request.message];
        message.stale |= request.overtaken;
        message.doubled |= request.moved && request.wish == Wish::Retry;
        match request.wish {
            Wish::Retry => {
                message.count();
                message.ended |= message.attempts >= MAX_ATTEMPTS;
            }
            Wish::Return => {}
            _ => message.ended = true,
        }
        if request.proves_alone() {
            return;
        }
        self.row.flights.clone_from(&request.left);
        match request.left.contains(&true) {
            true => self.row.holder = request.by,
            false if request.keeps => (self.row.holder, self.row.over) = (request.by, false),
            false => (self.row.holder, self.row.over) = (Holder::Free, false),
        }
    }
}

impl Message {
    pub(super) fn begin(&mut self) {
        self.begun = (self.begun + 1).min(MAX_ATTEMPTS + 1);
    }

    fn count(&mut self) {
        self.attempts = (self.attempts + 1).min(MAX_ATTEMPTS);
    }
}
