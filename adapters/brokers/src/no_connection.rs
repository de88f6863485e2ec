use std::fmt;

use claimstream_domain::Reason;
use claimstream_ports::ConsumeError;

/// Why there is no connection to a broker.
#[derive(Clone, Debug)]
pub(crate) enum NoConnection {
    /// It cannot be reached, or does not answer; it can be asked again.
    Away(Reason),
    /// It refuses the login, and repeats that until an operator changes something.
    Refused(Reason),
}

impl NoConnection {
    pub(crate) fn away(why: impl fmt::Display) -> Self {
        Self::Away(Reason::new(why))
    }

    pub(crate) fn refused(why: impl fmt::Display) -> Self {
        Self::Refused(Reason::new(why))
    }

    pub(crate) fn reason(self) -> Reason {
        let (Self::Away(why) | Self::Refused(why)) = self;
        why
    }
}

impl From<NoConnection> for ConsumeError {
    fn from(no: NoConnection) -> Self {
        match no {
            NoConnection::Away(why) => Self::Away(why),
            NoConnection::Refused(why) => Self::Refused(why),
        }
    }
}
