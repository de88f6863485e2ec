use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a branch stands; a branch without a call has no state.
///
/// The last three are final: nothing leads out of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BranchState {
    /// The resource is reserved.
    Tried,
    /// The reservation has been used.
    Confirmed,
    /// The reservation has been given back.
    Cancelled,
    /// Cancelled before it was tried: there was nothing to give back, and a Try that comes late is refused.
    EmptyRollback,
}

/// What a coordinator asks of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Reserve.
    Try,
    /// Use the reservation.
    Confirm,
    /// Give the reservation back.
    Cancel,
}

/// What an operation does to a branch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BranchMove {
    /// No call of the branch had come; it begins in this state.
    Insert(BranchState),
    /// It moves on to this state.
    Move(BranchState),
    /// The same operation was carried out before; nothing changes.
    Repeated,
}

/// Why an operation was not carried out; nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum BranchRefusal {
    /// The Try comes after the Cancel. Were it let in, its reservation would stay for ever.
    #[error("the branch has been cancelled, a late try is refused")]
    LateTry,
    /// It is about something else than what the branch was first called with.
    #[error("the branch was called before with another payload")]
    OtherPayload,
    /// There is nothing to confirm.
    #[error("the branch was never tried, there is nothing to confirm")]
    NotTried,
    /// A reservation that has been given back cannot be used any more.
    #[error("the branch has been cancelled, it cannot be confirmed")]
    ConfirmAfterCancel,
    /// A reservation that has been used cannot be given back any more.
    #[error("the branch has been confirmed, it cannot be cancelled")]
    CancelAfterConfirm,
}

impl BranchState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Tried, Self::Confirmed, Self::Cancelled, Self::EmptyRollback];

    /// The one transition table: what `operation` does to a branch that stands at `found`.
    pub fn after(found: Option<Self>, operation: Operation) -> Result<BranchMove, BranchRefusal> {
        match (found, operation) {
            (None, Operation::Try) => Ok(BranchMove::Insert(Self::Tried)),
            (None, Operation::Cancel) => Ok(BranchMove::Insert(Self::EmptyRollback)),
            (None, Operation::Confirm) => Err(BranchRefusal::NotTried),
            (Some(Self::Tried), Operation::Confirm) => Ok(BranchMove::Move(Self::Confirmed)),
            (Some(Self::Tried), Operation::Cancel) => Ok(BranchMove::Move(Self::Cancelled)),
            (Some(Self::Tried | Self::Confirmed), Operation::Try) => Ok(BranchMove::Repeated),
            (Some(Self::Confirmed), Operation::Confirm) => Ok(BranchMove::Repeated),
            (Some(Self::Confirmed), Operation::Cancel) => Err(BranchRefusal::CancelAfterConfirm),
            (Some(Self::Cancelled | Self::EmptyRollback), Operation::Cancel) => Ok(BranchMove::Repeated),
            (Some(Self::Cancelled | Self::EmptyRollback), Operation::Try) => Err(BranchRefusal::LateTry),
            (Some(Self::Cancelled | Self::EmptyRollback), Operation::Confirm) => {
                Err(BranchRefusal::ConfirmAfterCancel)
            }
        }
    }

    /// Whether nothing leads out of it.
    pub fn is_final(self) -> bool {
        self != Self::Tried
    }

    /// The number that it is stored as; part of the stored format.
    pub fn code(self) -> u8 {
        match self {
            Self::Tried => 0,
            Self::Confirmed => 1,
            Self::Cancelled => 2,
            Self::EmptyRollback => 3,
        }
    }

    /// The state that is stored as `code`.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }
}

impl BranchMove {
    /// Whether it touches the resource: reserves, uses or gives back.
    pub fn has_effect(self) -> bool {
        match self {
            Self::Insert(state) => state == BranchState::Tried,
            Self::Move(_) => true,
            Self::Repeated => false,
        }
    }
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 3] = [Self::Try, Self::Confirm, Self::Cancel];

    /// Its name, as in a [`BranchCallKey`](super::BranchCallKey).
    pub fn name(self) -> &'static str {
        match self {
            Self::Try => "try",
            Self::Confirm => "confirm",
            Self::Cancel => "cancel",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_table_is_this_one_and_no_other() {
        use {BranchRefusal::*, BranchState::*};
        let found = [None, Some(Tried), Some(Confirmed), Some(Cancelled), Some(EmptyRollback)];
        let rows = found.map(|found| Operation::ALL.map(|operation| BranchState::after(found, operation)));
        let (insert, to, repeated) = (BranchMove::Insert, BranchMove::Move, BranchMove::Repeated);
        assert_eq!(
            rows,
            [
                [Ok(insert(Tried)), Err(NotTried), Ok(insert(EmptyRollback))],
                [Ok(repeated), Ok(to(Confirmed)), Ok(to(Cancelled))],
                [Ok(repeated), Ok(repeated), Err(CancelAfterConfirm)],
                [Err(LateTry), Err(ConfirmAfterCancel), Ok(repeated)],
                [Err(LateTry), Err(ConfirmAfterCancel), Ok(repeated)],
            ]
        );
    }

    #[test]
    fn a_state_is_stored_as_a_number_and_read_back() {
        assert_eq!(BranchState::ALL.map(BranchState::code), [0, 1, 2, 3]);
        assert_eq!(BranchState::ALL.map(|s| BranchState::from_code(s.code())), BranchState::ALL.map(Some));
        assert_eq!(BranchState::from_code(4), None);
    }

    /// What a branch holds: ten pieces, of which one is wanted.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Stock {
        available: i32,
        reserved: i32,
        sold: i32,
    }

    impl Stock {
        const FULL: Self = Self { available: 10, reserved: 0, sold: 0 };

        fn carry_out(&mut self, operation: Operation) {
            let (available, reserved, sold) = match operation {
                Operation::Try => (-1, 1, 0),
                Operation::Confirm => (0, -1, 1),
                Operation::Cancel => (1, -1, 0),
            };
            self.available += available;
            self.reserved += reserved;
            self.sold += sold;
        }
    }

    fn operations() -> impl Strategy<Value = Vec<Operation>> {
        prop::collection::vec(prop::sample::select(Operation::ALL.to_vec()), 0..12)
    }

    proptest! {
        #[test]
        fn a3_7_any_operations_in_any_order_keep_the_stock_and_leave_no_final_state(operations in operations()) {
            let (mut found, mut stock) = (None, Stock::FULL);
            for operation in operations {
                let before = (found, stock);
                if let Ok(step) = BranchState::after(found, operation) {
                    if step.has_effect() {
                        stock.carry_out(operation);
                    }
                    if let BranchMove::Insert(state) | BranchMove::Move(state) = step {
                        found = Some(state);
                    }
                }
                if before.0.is_some_and(BranchState::is_final) {
                    prop_assert_eq!((found, stock), before);
                }
                prop_assert_eq!(stock.available + stock.reserved + stock.sold, 10);
                prop_assert_eq!(stock.reserved, i32::from(found == Some(BranchState::Tried)));
                prop_assert_eq!(stock.sold, i32::from(found == Some(BranchState::Confirmed)));
            }
        }

        #[test]
        fn a3_7_what_was_answered_once_is_answered_again_and_changes_nothing(
            operations in operations(), last in prop::sample::select(Operation::ALL.to_vec()),
        ) {
            let mut found = None;
            for operation in operations.into_iter().chain([last]) {
                if let Ok(BranchMove::Insert(state) | BranchMove::Move(state)) = BranchState::after(found, operation) {
                    found = Some(state);
                }
            }
            let again = BranchState::after(found, last);
            prop_assert!(!again.is_ok_and(BranchMove::has_effect), "{:?}", again);
        }
    }
}
