use claimstream_domain::Event;

/// What a worker is about to do. It may stand still before it does it, for as long as it likes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Worker {
    /// Claim something.
    Idle,
    /// Begin to handle what it has claimed, or give it back.
    Holds {
        /// Which message.
        message: usize,
        /// By which claim.
        claim: u8,
        /// The which attempt.
        attempt: u8,
    },
    /// Come to a verdict.
    Handles {
        /// Which message.
        message: usize,
        /// By which claim.
        claim: u8,
        /// The which attempt.
        attempt: u8,
    },
    /// Send its settlement, until it is answered.
    Awaits(Request),
}

/// What a worker asks of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Of which message.
    pub message: usize,
    /// By which claim.
    pub claim: u8,
    /// Whose it is, by which only a fault decides.
    pub instance: u8,
    /// What it wants.
    pub wish: Wish,
}

/// What may be asked of a claimed message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wish {
    /// A whole lease from now.
    Renew,
    /// Its end.
    Settle(Event),
}

impl Worker {
    /// Which claim of which message it knows of.
    pub(super) fn claim(&self) -> Option<(usize, u8)> {
        match self {
            Self::Idle => None,
            Self::Holds { message, claim, .. } | Self::Handles { message, claim, .. } => {
                Some((*message, *claim))
            }
            Self::Awaits(request) => Some(request.claim()),
        }
    }

    pub(super) fn renumber(&mut self, of: usize, new: impl Fn(u8) -> u8) {
        match self {
            Self::Idle => {}
            Self::Holds { message, claim, .. } | Self::Handles { message, claim, .. } if *message == of => {
                *claim = new(*claim);
            }
            Self::Holds { .. } | Self::Handles { .. } => {}
            Self::Awaits(request) => request.renumber(of, new),
        }
    }
}

impl Request {
    /// Which claim of which message it shows.
    pub(super) fn claim(&self) -> (usize, u8) {
        (self.message, self.claim)
    }

    pub(super) fn renumber(&mut self, of: usize, new: impl Fn(u8) -> u8) {
        if self.message == of {
            self.claim = new(self.claim);
        }
    }

    /// An order among requests, so that those on their way have one.
    pub(super) fn rank(&self) -> (usize, u8, u8, Option<usize>) {
        let wish = match self.wish {
            Wish::Renew => None,
            Wish::Settle(event) => Event::ALL.iter().position(|each| *each == event),
        };
        (self.message, self.claim, self.instance, wish)
    }
}
