use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{Branch, GlobalId};
use crate::Invalid;

/// A transaction over several branches, of which all are confirmed or all are cancelled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GlobalTransaction {
    /// Its identity.
    pub gid: GlobalId,
    /// Its branches, in the order in which they are tried.
    pub branches: Vec<Branch>,
}

/// Where a global transaction stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GlobalState {
    /// Nothing has been decided.
    Trying,
    /// Decided: every branch is to be confirmed.
    Confirming,
    /// Every branch has been confirmed.
    Confirmed,
    /// Decided: every branch is to be cancelled.
    Cancelling,
    /// Every branch has been cancelled.
    Cancelled,
}

/// What happens to a global transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GlobalEvent {
    /// Every branch has been tried.
    AllTried,
    /// A branch refused its Try.
    TryFailed,
    /// The deadline has passed.
    DeadlinePassed,
    /// Every branch has been confirmed.
    AllConfirmed,
    /// Every branch has been cancelled.
    AllCancelled,
}

/// Why a coordinator looks at a global transaction; its outbox messages carry it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GlobalTrigger {
    /// It was decided or begun: continue from where it stands.
    Drive,
    /// Its deadline has passed.
    Check,
}

/// The next action for a global transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GlobalAction {
    /// Try every branch.
    TryAll,
    /// Let this happen to it, and look again.
    Note(GlobalEvent),
    /// Confirm every branch, however long it takes.
    ConfirmAll,
    /// Cancel every branch, however long it takes.
    CancelAll,
    /// Nothing: it has ended.
    Nothing,
}

impl GlobalTransaction {
    /// The most branches.
    pub const MAX_BRANCHES: usize = 64;

    /// A transaction over `branches`; refuses what [`check`](Self::check) refuses.
    pub fn new(gid: GlobalId, branches: impl IntoIterator<Item = Branch>) -> Result<Self, Invalid> {
        let global = Self { gid, branches: branches.into_iter().collect() };
        global.check()?;
        Ok(global)
    }

    /// Refuses one without branches, with more than [`MAX_BRANCHES`](Self::MAX_BRANCHES), or with two of one name.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(1..=Self::MAX_BRANCHES).contains(&self.branches.len()) {
            return Err(Invalid::OutOfRange {
                what: "number of branches",
                given: self.branches.len().to_string(),
                allowed: format!("1 to {}", Self::MAX_BRANCHES),
            });
        }
        let mut names = HashSet::new();
        match self.branches.iter().find(|branch| !names.insert(&branch.name)) {
            Some(twice) => Err(Invalid::Contradiction(format!(
                "two branches of {} are called {}; give one of them another name",
                self.gid, twice.name
            ))),
            None => Ok(()),
        }
    }
}

impl GlobalState {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Trying, Self::Confirming, Self::Confirmed, Self::Cancelling, Self::Cancelled];

    /// The one transition table; `None` if the event comes too late and changes nothing.
    ///
    /// Nothing leads from confirming to cancelling or back: the first decision stands.
    pub fn next(self, event: GlobalEvent) -> Option<Self> {
        match (self, event) {
            (Self::Trying, GlobalEvent::AllTried) => Some(Self::Confirming),
            (Self::Trying, GlobalEvent::TryFailed | GlobalEvent::DeadlinePassed) => Some(Self::Cancelling),
            (Self::Confirming, GlobalEvent::AllConfirmed) => Some(Self::Confirmed),
            (Self::Cancelling, GlobalEvent::AllCancelled) => Some(Self::Cancelled),
            _ => None,
        }
    }

    /// What a coordinator does next that was called by `trigger`.
    pub fn next_action(self, trigger: GlobalTrigger) -> GlobalAction {
        match (self, trigger) {
            (Self::Trying, GlobalTrigger::Drive) => GlobalAction::TryAll,
            (Self::Trying, GlobalTrigger::Check) => GlobalAction::Note(GlobalEvent::DeadlinePassed),
            (Self::Confirming, _) => GlobalAction::ConfirmAll,
            (Self::Cancelling, _) => GlobalAction::CancelAll,
            (Self::Confirmed | Self::Cancelled, _) => GlobalAction::Nothing,
        }
    }

    /// Whether it has ended.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Confirmed | Self::Cancelled)
    }

    /// The number that it is stored as; part of the stored format.
    pub fn code(self) -> u8 {
        match self {
            Self::Trying => 0,
            Self::Confirming => 1,
            Self::Confirmed => 2,
            Self::Cancelling => 3,
            Self::Cancelled => 4,
        }
    }

    /// The state that is stored as `code`.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }
}

impl GlobalEvent {
    /// Every event.
    pub const ALL: [Self; 5] =
        [Self::AllTried, Self::TryFailed, Self::DeadlinePassed, Self::AllConfirmed, Self::AllCancelled];
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn global(names: &[&str]) -> Result<GlobalTransaction, Invalid> {
        let branches = names.iter().map(|name| Branch::new(name, json!({"pieces": 1})).unwrap());
        GlobalTransaction::new(GlobalId::new("order-7").unwrap(), branches)
    }

    #[test]
    fn refuses_no_branches_too_many_and_two_of_one_name() {
        assert!(global(&["stock", "coupon"]).is_ok());
        assert!(matches!(global(&[]), Err(Invalid::OutOfRange { .. })));
        assert!(matches!(global(&["stock", "stock"]), Err(Invalid::Contradiction(_))));
        let many: Vec<String> = (0..65).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(matches!(global(&many), Err(Invalid::OutOfRange { .. })));
        assert!(global(&many[..64]).is_ok());
    }

    #[test]
    fn the_table_is_this_one_and_no_other() {
        use {GlobalEvent::*, GlobalState::*};
        let all = GlobalState::ALL.into_iter().flat_map(|state| GlobalEvent::ALL.map(|event| (state, event)));
        let legal: Vec<_> =
            all.filter_map(|(state, event)| Some((state, event, state.next(event)?))).collect();
        assert_eq!(
            legal,
            [
                (Trying, AllTried, Confirming),
                (Trying, TryFailed, Cancelling),
                (Trying, DeadlinePassed, Cancelling),
                (Confirming, AllConfirmed, Confirmed),
                (Cancelling, AllCancelled, Cancelled),
            ]
        );
    }

    #[test]
    fn a_state_is_stored_as_a_number_and_read_back() {
        assert_eq!(GlobalState::ALL.map(GlobalState::code), [0, 1, 2, 3, 4]);
        assert_eq!(GlobalState::ALL.map(|s| GlobalState::from_code(s.code())), GlobalState::ALL.map(Some));
        assert_eq!(GlobalState::from_code(5), None);
    }

    #[test]
    fn whoever_looks_after_it_has_something_to_do_until_it_has_ended() {
        for state in GlobalState::ALL {
            for trigger in [GlobalTrigger::Drive, GlobalTrigger::Check] {
                assert_eq!(
                    state.next_action(trigger) == GlobalAction::Nothing,
                    state.is_final(),
                    "{state:?} {trigger:?}"
                );
                if let GlobalAction::Note(event) = state.next_action(trigger) {
                    assert!(state.next(event).is_some(), "{state:?} {trigger:?} would look again for ever");
                }
            }
        }
    }

    proptest! {
        /// Guard: a global transaction's decision does not change | `Confirming` becomes `Cancelling`, or the
        /// reverse
        #[test]
        fn what_has_been_decided_is_never_undone(
            events in prop::collection::vec(prop::sample::select(GlobalEvent::ALL.to_vec()), 0..12),
        ) {
            let confirms = |s| matches!(s, GlobalState::Confirming | GlobalState::Confirmed);
            let mut state = GlobalState::Trying;
            for event in events {
                let next = state.next(event).unwrap_or(state);
                if state != GlobalState::Trying {
                    prop_assert_eq!(confirms(state), confirms(next));
                }
                prop_assert!(!state.is_final() || state == next);
                state = next;
            }
        }
    }
}
