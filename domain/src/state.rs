/// Where a message stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Claimable once its time has come; NEW, PENDING and FAILED of other systems.
    Ready,
    /// Held by a claim until its lease ends; PROCESSING and IN_PROGRESS of other systems.
    Leased,
    /// Finished; SENT and SUCCESS of other systems.
    Done,
    /// Given up, kept for people; DEAD of other systems.
    Dead,
}

/// What happens to a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// Taken with a lease.
    Claim,
    /// Finished by its holder.
    Ack,
    /// Put off by its holder.
    Nack,
    /// Given up by its holder.
    Bury,
    /// Given back by its holder.
    Release,
    /// Its lease ran out.
    Expire,
    /// Taken out of the dead letters by an operator.
    Revive,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Ready, Self::Leased, Self::Done, Self::Dead];

    /// The one transition table.
    pub fn next(self, event: Event) -> Result<Self, IllegalTransition> {
        match (self, event) {
            (Self::Ready, Event::Claim) => Ok(Self::Leased),
            (Self::Leased, Event::Ack) => Ok(Self::Done),
            (Self::Leased, Event::Bury) => Ok(Self::Dead),
            (Self::Leased, Event::Nack | Event::Release | Event::Expire) => Ok(Self::Ready),
            (Self::Dead, Event::Revive) => Ok(Self::Ready),
            (state, event) => Err(IllegalTransition { state, event }),
        }
    }
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 7] =
        [Self::Claim, Self::Ack, Self::Nack, Self::Bury, Self::Release, Self::Expire, Self::Revive];
}

/// An event that cannot happen in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{event:?} cannot happen to a message that is {state:?}")]
pub struct IllegalTransition {
    /// Where the message stood.
    pub state: State,
    /// The event that was to happen.
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_this_one_and_no_other() {
        let legal: Vec<_> = State::ALL
            .into_iter()
            .flat_map(|state| Event::ALL.map(|event| (state, event)))
            .filter_map(|(state, event)| Some((state, event, state.next(event).ok()?)))
            .collect();
        use {Event::*, State::*};
        assert_eq!(
            legal,
            [
                (Ready, Claim, Leased),
                (Leased, Ack, Done),
                (Leased, Nack, Ready),
                (Leased, Bury, Dead),
                (Leased, Release, Ready),
                (Leased, Expire, Ready),
                (Dead, Revive, Ready),
            ]
        );
    }
}
