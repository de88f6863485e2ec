/// A process: its adapter's books, and its stream.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Process {
    /// Its fence is the row's.
    pub knows_fence: bool,
    /// What its books have in flight.
    pub flights: Vec<Option<Flight>>,
    /// The answer to a claim that the stream has not received yet: messages, each with the one that it is behind.
    pub answer: Vec<(usize, Option<usize>)>,
    /// What the stream has in hand.
    pub run: Option<Run>,
    /// The message that the handler is at.
    pub handles: Option<usize>,
    /// Settlements on their way, for each message.
    pub ends: Vec<Option<End>>,
}

/// A message in flight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flight {
    /// Its claim has run out.
    pub lapsed: bool,
    /// It can only be given back.
    pub revoked: bool,
}

/// What a stream has in hand of the key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    /// The message that the next one has to be behind.
    pub last: usize,
    /// The one that may be handled.
    pub first: Option<usize>,
    /// What is kept back.
    pub held: Vec<usize>,
}

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// It is done.
    Done,
    /// It is tried again.
    Retry,
    /// It goes back.
    Return,
}

impl Process {
    pub(super) fn started(messages: usize) -> Self {
        Self {
            knows_fence: false,
            flights: vec![None; messages],
            answer: Vec::new(),
            run: None,
            handles: None,
            ends: vec![None; messages],
        }
    }

    /// Takes in a message that was claimed, as `app/outbox/src/order/key_groups.rs` does.
    pub(super) fn admit(&mut self, message: usize, behind: Option<usize>, any: bool) {
        let Some(before) = behind else {
            self.stop();
            self.run = Some(Run { last: message, first: Some(message), held: Vec::new() });
            return;
        };
        match self.run.as_mut().filter(|run| run.last == before || any) {
            None => self.ends[message] = Some(End::Return),
            Some(run) => {
                run.last = message;
                match run.first {
                    None => run.first = Some(message),
                    Some(_) => run.held.push(message),
                }
            }
        }
    }

    /// The settlement of the first message has joined a batch.
    pub(super) fn go_on(&mut self) {
        if let Some(run) = &mut self.run {
            run.first = if run.held.is_empty() { None } else { Some(run.held.remove(0)) };
        }
    }

    /// Ends the run; what is kept back goes back.
    pub(super) fn stop(&mut self) {
        for message in self.run.take().into_iter().flat_map(|run| run.held) {
            self.ends[message] = Some(End::Return);
        }
    }

    /// Forgets what its books have in flight.
    pub(super) fn lose(&mut self) {
        self.flights.fill(None);
        self.knows_fence = false;
    }

    /// Lets what is in flight behind a message only be given back.
    pub(super) fn revoke_behind(&mut self, message: usize) {
        self.flights[message + 1..].iter_mut().flatten().for_each(|flight| flight.revoked = true);
    }
}
