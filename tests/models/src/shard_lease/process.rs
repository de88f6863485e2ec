/// A process: its books of the shard, and its hands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Process {
    /// The newest fence that it knows.
    pub fence: i8,
    /// What it has in flight, by message.
    pub flights: Vec<Option<Flight>>,
    /// What it handles.
    pub hands: [Option<Hand>; Process::HANDS],
}

/// A message that was handed out, as the books know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flight {
    /// Whose claim it is.
    pub hand: usize,
    /// Its claim has run out.
    pub lapsed: bool,
}

/// A hand on a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Hand {
    /// Which one.
    pub message: usize,
    /// Past: it was handed out again since.
    pub overtaken: bool,
    /// It is due at another time since.
    pub moved: bool,
    /// What comes next.
    pub wish: Wish,
}

/// What a hand is about to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Wish {
    /// Write the claim that was read, when the shard was free or not.
    Take {
        /// It was.
        free: bool,
    },
    /// Begin the handler.
    Begin,
    /// Come to a verdict.
    Decide,
    /// Settle it as done.
    Done,
    /// Settle it as failed.
    Retry,
    /// Give it back, because no handler was begun.
    Return,
}

impl Wish {
    pub(super) fn settles(self) -> bool {
        matches!(self, Self::Done | Self::Retry | Self::Return)
    }
}

impl Hand {
    pub(super) fn on(message: usize, wish: Wish) -> Self {
        Self { message, overtaken: false, moved: false, wish }
    }
}

impl Process {
    /// How many messages it can handle at a time.
    pub(super) const HANDS: usize = 2;

    pub(super) fn started(messages: usize) -> Self {
        Self { fence: 0, flights: vec![None; messages], hands: [None; Self::HANDS] }
    }

    /// Whether a call of it has its turn.
    pub(super) fn is_writing(&self) -> bool {
        self.hands.iter().flatten().any(|hand| matches!(hand.wish, Wish::Take { .. }))
    }

    /// Whether the books say that what this hand has is still its own.
    pub(super) fn holds(&self, hand: usize) -> bool {
        let message = self.hands[hand].map(|hand| hand.message);
        message.is_some_and(|message| self.flights[message].is_some_and(|flight| flight.hand == hand))
    }

    /// Which messages are in flight.
    pub(super) fn in_flight(&self) -> Vec<bool> {
        self.flights.iter().map(Option::is_some).collect()
    }

    /// Forgets what is in flight.
    pub(super) fn lose(&mut self) {
        self.flights.fill(None);
    }

    /// Takes note of the fence that was read; true if it goes on from one that went back.
    pub(super) fn agrees(&mut self, fence: i8, waits: bool) -> bool {
        let flies = self.flights.iter().any(Option::is_some);
        let lapsed = self.flights.iter().flatten().all(|flight| flight.lapsed);
        let went_back = flies && fence < self.fence && lapsed && waits;
        if !flies || went_back {
            self.fence = fence;
        }
        went_back
    }

    /// A process with empty books goes by the fence that it reads.
    pub(super) fn forget_the_fence_of_nothing(&mut self, fence: i8) {
        if !self.is_writing() && self.flights.iter().all(Option::is_none) {
            self.fence = fence;
        }
    }

    /// One hand is as good as the other.
    pub(super) fn sort_hands(&mut self) {
        if self.hands[0] < self.hands[1] || (self.hands[0] == self.hands[1] && self.holds(1)) {
            self.hands.swap(0, 1);
            self.flights.iter_mut().flatten().for_each(|flight| flight.hand = 1 - flight.hand);
        }
    }

    pub(super) fn fly(&mut self, message: usize, hand: usize, wish: Wish) {
        self.flights[message] = Some(Flight { hand, lapsed: false });
        self.hands[hand] = Some(Hand::on(message, wish));
    }

    pub(super) fn wants(&mut self, hand: usize, wish: Wish) {
        if let Some(hand) = &mut self.hands[hand] {
            hand.wish = wish;
        }
    }
}
