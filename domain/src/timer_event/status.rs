/// Where an event stands; the state of its row in the step ledger.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventStatus {
    /// Begun, and not everything has succeeded yet.
    Init,
    /// Every decision has succeeded.
    Success,
    /// Its deadline passed first.
    Timeout,
}

/// How an event ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventEnd {
    /// The last decision has succeeded.
    Succeed,
    /// The deadline has passed.
    TimeOut,
}

impl EventStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Init, Self::Success, Self::Timeout];

    /// The one transition table: an event ends once.
    pub fn after(self, end: EventEnd) -> Result<Self, IllegalEnd> {
        match (self, end) {
            (Self::Init, EventEnd::Succeed) => Ok(Self::Success),
            (Self::Init, EventEnd::TimeOut) => Ok(Self::Timeout),
            (status, end) => Err(IllegalEnd { status, end }),
        }
    }

    /// The number that is stored: 0 for `Init`, 1 for `Success`, 2 for `Timeout`.
    pub fn code(self) -> u8 {
        match self {
            Self::Init => 0,
            Self::Success => 1,
            Self::Timeout => 2,
        }
    }

    /// The status with this number, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.code() == code)
    }
}

impl EventEnd {
    /// Both ends.
    pub const ALL: [Self; 2] = [Self::Succeed, Self::TimeOut];
}

/// An end of an event that is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{end:?} cannot happen to an event that is {status:?}")]
pub struct IllegalEnd {
    /// Where the event stood.
    pub status: EventStatus,
    /// How it was to end.
    pub end: EventEnd,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_this_one_and_no_other() {
        let legal: Vec<_> = EventStatus::ALL
            .into_iter()
            .flat_map(|status| EventEnd::ALL.map(|end| (status, end)))
            .filter_map(|(status, end)| Some((status, end, status.after(end).ok()?)))
            .collect();
        use {EventEnd::*, EventStatus::*};
        assert_eq!(legal, [(Init, Succeed, Success), (Init, TimeOut, Timeout)]);
    }

    #[test]
    fn every_status_is_stored_under_a_number_of_its_own() {
        assert_eq!(EventStatus::ALL.map(EventStatus::code), [0, 1, 2]);
        assert_eq!((0..=255).filter_map(EventStatus::from_code).collect::<Vec<_>>(), EventStatus::ALL);
    }
}
