use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The identity of a saga for its whole life, made by the caller, so that asking twice is asking once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SagaId(Uuid);

impl SagaId {
    /// Takes any UUID; version 7 keeps sagas in the order in which they were asked for.
    pub fn new(id: Uuid) -> Self {
        Self(id)
    }

    /// The id as a UUID.
    pub fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for SagaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a saga stands; a row of the step ledger keeps it as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SagaState {
    /// Its first steps are being taken; it may still go either way.
    Init,
    /// Past the pivot: it goes on until it is finished and can never be rolled back.
    Committing,
    /// Called off: it goes back until it has failed and can never be finished.
    ToRollback,
    /// Every step was taken.
    Finish,
    /// No step was taken, or each that was is undone.
    Fail,
}

impl SagaState {
    /// Every state.
    pub const ALL: [Self; 5] = [Self::Init, Self::Committing, Self::ToRollback, Self::Finish, Self::Fail];

    /// The number that stands for it in the ledger.
    pub fn code(self) -> u8 {
        match self {
            Self::Init => 1,
            Self::Committing => 2,
            Self::ToRollback => 3,
            Self::Finish => 4,
            Self::Fail => 5,
        }
    }

    /// The state that a number stands for, if any.
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }

    /// Whether nothing follows.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Finish | Self::Fail)
    }

    /// Whether `to` may follow directly; the one table of the saga's row.
    pub fn may_become(self, to: Self) -> bool {
        matches!(
            (self, to),
            (Self::Init, Self::Committing | Self::ToRollback)
                | (Self::Committing, Self::Finish)
                | (Self::ToRollback, Self::Fail)
        )
    }
}

impl fmt::Display for SagaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Where one step of a saga stands; it has no row before it is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SagaStepState {
    /// Its effect is there.
    Done,
    /// Undone, or never taken and refused from now on: a tombstone.
    RolledBack,
    /// A remote call is about to be made or was made, and its answer is not known yet.
    Calling,
}

impl SagaStepState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Done, Self::RolledBack, Self::Calling];

    /// The number that stands for it in the ledger.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 1,
            Self::RolledBack => 2,
            Self::Calling => 3,
        }
    }

    /// The state that a number stands for, if any.
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_and_strange_ones_are_nothing() {
        assert!(SagaState::ALL.iter().all(|state| SagaState::of_code(state.code()) == Some(*state)));
        assert!(SagaStepState::ALL.iter().all(|state| SagaStepState::of_code(state.code()) == Some(*state)));
        assert_eq!((SagaState::of_code(0), SagaState::of_code(6)), (None, None));
        assert_eq!((SagaStepState::of_code(0), SagaStepState::of_code(4)), (None, None));
    }

    #[test]
    fn the_two_ways_of_a_saga_never_meet() {
        let follow = |from: SagaState| SagaState::ALL.into_iter().filter(move |to| from.may_become(*to));
        use SagaState::*;
        assert_eq!(follow(Init).collect::<Vec<_>>(), [Committing, ToRollback]);
        assert_eq!(follow(Committing).collect::<Vec<_>>(), [Finish]);
        assert_eq!(follow(ToRollback).collect::<Vec<_>>(), [Fail]);
        assert!(
            SagaState::ALL.into_iter().filter(|state| state.is_over()).all(|over| follow(over).count() == 0)
        );
    }
}
