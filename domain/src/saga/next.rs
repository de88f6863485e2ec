use super::{SagaFault, SagaPlan, SagaState, SagaStepState};

/// Why a runner looks at a saga.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SagaEntry {
    /// To run it for the first time.
    Start,
    /// To bring it to its end: a check message, or a person who pressed "continue".
    Check,
    /// To call it off.
    RollBack,
}

/// What becomes of a saga of which a check finds no step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Unbegun {
    /// It is run from the beginning.
    #[default]
    Run,
    /// It is called off, and a first step that comes later is refused.
    CallOff,
}

/// What a runner knows of a saga's rows; it may be out of date, and what is written on the strength of it must show that
/// it is not.
#[derive(Clone, Copy, Debug)]
pub struct SagaView<'a> {
    /// The saga's row, if it has one.
    pub saga: Option<SagaState>,
    /// The rows of the steps, in their order, as far as they are known; the rows behind the end of the list are not known.
    pub steps: &'a [Option<SagaStepState>],
}

/// The next action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SagaNext {
    /// Write the saga's row, in this state.
    Begin(SagaState),
    /// Take a step, unless its row says that it was taken.
    Forward(usize),
    /// Move the saga's row from the one state to the other, if it is still in the first.
    Move(SagaState, SagaState),
    /// Undo a step, or leave a tombstone where it was never taken.
    Undo(usize),
    /// Nothing: the saga is over.
    Over,
    /// Nothing: the saga was to be called off, and it is too late for that.
    TooLate,
    /// Nothing, and an operator has to look.
    Broken(SagaFault),
}

impl SagaPlan {
    /// The next action, for every entry, every state of the saga's row and every set of known steps.
    ///
    /// Before the pivot steps are taken in order; then the row moves from `Init` to `Committing`, which is the pivot; then
    /// the rest is taken. A saga that is called off goes through its steps from the last to the first, so that a step that
    /// cannot be undone is found before anything has been given back.
    pub fn next(self, entry: SagaEntry, unbegun: Unbegun, view: SagaView<'_>) -> SagaNext {
        match view.saga {
            None if entry == SagaEntry::RollBack || view.is_left_unbegun(entry, unbegun) => {
                SagaNext::Begin(SagaState::ToRollback)
            }
            None => SagaNext::Begin(SagaState::Init),
            Some(SagaState::Init) => self.next_of_open(entry, unbegun, view),
            Some(SagaState::Committing | SagaState::Finish) if entry == SagaEntry::RollBack => {
                SagaNext::TooLate
            }
            Some(SagaState::Committing) => self.next_of_committing(view),
            Some(SagaState::ToRollback) => self.next_of_called_off(view),
            Some(SagaState::Finish | SagaState::Fail) => SagaNext::Over,
        }
    }

    fn next_of_open(self, entry: SagaEntry, unbegun: Unbegun, view: SagaView<'_>) -> SagaNext {
        let refused = view.find(0..self.steps(), |state| state == Some(SagaStepState::RolledBack)).is_some();
        if entry == SagaEntry::RollBack || refused || view.is_left_unbegun(entry, unbegun) {
            return SagaNext::Move(SagaState::Init, SagaState::ToRollback);
        }
        match view.find(0..self.pivot(), |state| state != Some(SagaStepState::Done)) {
            Some(step) => SagaNext::Forward(step),
            None => SagaNext::Move(SagaState::Init, SagaState::Committing),
        }
    }

    fn next_of_committing(self, view: SagaView<'_>) -> SagaNext {
        if let Some(step) = view.find(0..self.steps(), |state| state == Some(SagaStepState::RolledBack)) {
            return SagaNext::Broken(SagaFault::RolledBackPastPivot(step));
        }
        match view.find(self.pivot()..self.steps(), |state| state != Some(SagaStepState::Done)) {
            Some(step) => SagaNext::Forward(step),
            None => SagaNext::Move(SagaState::Committing, SagaState::Finish),
        }
    }

    fn next_of_called_off(self, view: SagaView<'_>) -> SagaNext {
        let taken = |state| matches!(state, Some(SagaStepState::Done | SagaStepState::Calling));
        if let Some(step) = view.find(self.pivot()..self.steps(), taken) {
            return SagaNext::Broken(SagaFault::TakenAfterCallOff(step));
        }
        match view.find((0..self.steps()).rev(), |state| state != Some(SagaStepState::RolledBack)) {
            Some(step) => SagaNext::Undo(step),
            None => SagaNext::Move(SagaState::ToRollback, SagaState::Fail),
        }
    }
}

impl SagaView<'_> {
    fn find(
        self,
        mut steps: impl Iterator<Item = usize>,
        is: impl Fn(Option<SagaStepState>) -> bool,
    ) -> Option<usize> {
        steps.find(|step| is(self.steps.get(*step).copied().flatten()))
    }

    /// Whether a check finds no step of a saga that is not to be run then.
    fn is_left_unbegun(self, entry: SagaEntry, unbegun: Unbegun) -> bool {
        let no_step = self.steps.iter().all(Option::is_none);
        entry == SagaEntry::Check && unbegun == Unbegun::CallOff && no_step
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SagaState::*, SagaStepState::*, *};

    /// Six rows as in points and balance: two debits, the pivot, two credits.
    fn next(entry: SagaEntry, saga: Option<SagaState>, steps: &[Option<SagaStepState>]) -> SagaNext {
        SagaPlan::new(4, 2).unwrap().next(entry, Unbegun::Run, SagaView { saga, steps })
    }

    #[test]
    fn s4b_forward_takes_the_steps_in_order_around_the_pivot() {
        let check = |saga, steps: &[_]| next(SagaEntry::Check, saga, steps);
        let d = Some(Done);
        assert_eq!(check(None, &[]), SagaNext::Begin(Init));
        assert_eq!(check(Some(Init), &[]), SagaNext::Forward(0));
        assert_eq!(check(Some(Init), &[d]), SagaNext::Forward(1));
        assert_eq!(check(Some(Init), &[d, d]), SagaNext::Move(Init, Committing));
        assert_eq!(check(Some(Committing), &[]), SagaNext::Forward(2));
        assert_eq!(check(Some(Committing), &[d, d, d]), SagaNext::Forward(3));
        assert_eq!(check(Some(Committing), &[None, None, d, d]), SagaNext::Move(Committing, Finish));
        assert_eq!(check(Some(Finish), &[]), SagaNext::Over);
    }

    #[test]
    fn s4b_rollback_goes_from_the_last_step_to_the_first() {
        let order = |saga, steps: &[_]| next(SagaEntry::RollBack, saga, steps);
        let r = Some(RolledBack);
        assert_eq!(order(Some(Init), &[Some(Done)]), SagaNext::Move(Init, ToRollback));
        assert_eq!(order(Some(ToRollback), &[]), SagaNext::Undo(3));
        assert_eq!(order(Some(ToRollback), &[Some(Done), Some(Done), r, r]), SagaNext::Undo(1));
        assert_eq!(order(Some(ToRollback), &[r, r, r, r]), SagaNext::Move(ToRollback, Fail));
        assert_eq!(order(Some(Fail), &[]), SagaNext::Over);
        assert_eq!(order(Some(Committing), &[]), SagaNext::TooLate);
        assert_eq!(order(Some(Finish), &[]), SagaNext::TooLate);
        assert_eq!(order(None, &[]), SagaNext::Begin(ToRollback));
    }

    #[test]
    fn what_cannot_be_is_reported_and_not_repaired() {
        let (check, r) = (SagaEntry::Check, Some(RolledBack));
        let past = SagaNext::Broken(SagaFault::RolledBackPastPivot(1));
        assert_eq!(next(check, Some(Committing), &[Some(Done), r]), past);
        let taken = SagaNext::Broken(SagaFault::TakenAfterCallOff(2));
        assert_eq!(next(check, Some(ToRollback), &[None, None, Some(Done), r]), taken);
        assert_eq!(next(check, Some(Init), &[r]), SagaNext::Move(Init, ToRollback));
    }

    #[test]
    fn a_saga_may_be_called_off_by_a_check_that_finds_no_step_and_by_nothing_else() {
        let plan = SagaPlan::new(2, 1).unwrap();
        let next = |entry, saga, steps: &[_]| plan.next(entry, Unbegun::CallOff, SagaView { saga, steps });
        assert_eq!(next(SagaEntry::Check, Some(Init), &[None]), SagaNext::Move(Init, ToRollback));
        assert_eq!(next(SagaEntry::Check, None, &[]), SagaNext::Begin(ToRollback));
        assert_eq!(next(SagaEntry::Start, Some(Init), &[None]), SagaNext::Forward(0));
        assert_eq!(next(SagaEntry::Check, Some(Init), &[Some(Done)]), SagaNext::Move(Init, Committing));
        assert_eq!(next(SagaEntry::Check, Some(Committing), &[None]), SagaNext::Forward(1));
    }

    fn states<T: Clone + std::fmt::Debug + 'static>(all: &[T]) -> impl Strategy<Value = Option<T>> + use<T> {
        prop::option::of(prop::sample::select(all.to_vec()))
    }

    proptest! {
        #[test]
        fn whatever_is_known_the_answer_is_one_that_the_table_allows(
            steps in 1..6_usize,
            pivot in 0..6_usize,
            entry in prop::sample::select(vec![SagaEntry::Start, SagaEntry::Check, SagaEntry::RollBack]),
            unbegun in prop::sample::select(vec![Unbegun::Run, Unbegun::CallOff]),
            saga in states(&SagaState::ALL),
            known in prop::collection::vec(states(&SagaStepState::ALL), 0..8),
        ) {
            let plan = SagaPlan::new(steps, pivot.min(steps)).unwrap();
            match plan.next(entry, unbegun, SagaView { saga, steps: &known }) {
                SagaNext::Move(from, to) => prop_assert!(saga == Some(from) && from.may_become(to)),
                SagaNext::Forward(step) => {
                    let state = if plan.is_reversible(step) { Init } else { Committing };
                    prop_assert!(step < steps && saga == Some(state));
                }
                SagaNext::Undo(step) => prop_assert!(step < steps && saga == Some(ToRollback)),
                SagaNext::Begin(state) => prop_assert!(saga.is_none() && matches!(state, Init | ToRollback)),
                SagaNext::Over => prop_assert!(saga.is_some_and(SagaState::is_over)),
                SagaNext::TooLate => prop_assert!(entry == SagaEntry::RollBack),
                SagaNext::Broken(_) => prop_assert!(matches!(saga, Some(Committing | ToRollback))),
            }
        }
    }
}
