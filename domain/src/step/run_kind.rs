use crate::{
    saga::{SagaState, SagaStepState},
    tcc::{BranchState, GlobalState},
    timer_event::EventStatus,
};

/// What a run of the step ledger is, as its scope says.
///
/// | kind | scope | run | step |
/// |---|---|---|---|
/// | a saga | `saga:NAME` | the saga's id | none for the saga itself, or the name of a step |
/// | a TCC transaction | `tcc-global` | its id | none |
/// | a branch of one | `tcc` | the transaction's id | the branch |
/// | a timer event | `timer:SCHEME` | the occurrence | none for the event itself, `decision:NAME`, or `hook` |
///
/// Messages that an inbox has taken are runs as well; they end with the transaction that begins them, so open ones are not looked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RunKind {
    /// A saga.
    Saga,
    /// A TCC transaction, in the database of its coordinator.
    Tcc,
    /// Branches of a TCC transaction, in the database of their resource.
    Branch,
    /// One occurrence of a timer.
    TimerEvent,
}

/// How a row of the step ledger stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepStanding {
    /// The state's name; `unknown` for a number that this version does not know.
    pub state: &'static str,
    /// Whether something is still to happen to it. An unknown state is open, because it is not known to have ended.
    pub is_open: bool,
}

impl RunKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Saga, Self::Tcc, Self::Branch, Self::TimerEvent];

    /// Its name: saga, tcc, tcc_branch or timer_event.
    pub fn name(self) -> &'static str {
        match self {
            Self::Saga => "saga",
            Self::Tcc => "tcc",
            Self::Branch => "tcc_branch",
            Self::TimerEvent => "timer_event",
        }
    }

    /// The kind of the runs with this scope, if it is one of ours.
    pub fn of_scope(scope: &str) -> Option<Self> {
        match scope {
            TCC => Some(Self::Tcc),
            BRANCH => Some(Self::Branch),
            _ if scope.starts_with(SAGA) => Some(Self::Saga),
            _ if scope.starts_with(TIMER) => Some(Self::TimerEvent),
            _ => None,
        }
    }

    /// The scope of runs of this kind that have a name of their own, such as `saga:transfer` for `transfer`; a name that is a scope
    /// already stays as it is.
    pub fn scope(self, name: &str) -> String {
        let with = |prefix: &str| match name.starts_with(prefix) {
            true => name.to_owned(),
            false => format!("{prefix}{name}"),
        };
        match self {
            Self::Saga => with(SAGA),
            Self::TimerEvent => with(TIMER),
            Self::Tcc => TCC.to_owned(),
            Self::Branch => BRANCH.to_owned(),
        }
    }

    /// The scopes of this kind as a range of bytes: from the first on, and before the second.
    pub fn scopes(self) -> (String, String) {
        match self {
            // The character after a colon is a semicolon.
            Self::Saga => (SAGA.into(), "saga;".into()),
            Self::TimerEvent => (TIMER.into(), "timer;".into()),
            Self::Tcc => Self::only(TCC),
            Self::Branch => Self::only(BRANCH),
        }
    }

    /// One scope as such a range.
    pub fn only(scope: &str) -> (String, String) {
        (scope.to_owned(), format!("{scope}\0"))
    }

    /// Whether a row stands for a run as a whole. A branch does by itself, because its transaction is kept elsewhere.
    pub fn is_head(self, step: &str) -> bool {
        self == Self::Branch || step.is_empty()
    }

    /// How a row of this kind stands.
    pub fn standing(self, step: &str, state: u8) -> StepStanding {
        let is = |state, is_open| StepStanding { state, is_open };
        let found = match (self, step) {
            (Self::Saga, "") => SagaState::of_code(state).map(|it| is(saga(it), !it.is_over())),
            (Self::Saga, _) => {
                SagaStepState::of_code(state).map(|it| is(saga_step(it), it == SagaStepState::Calling))
            }
            (Self::Tcc, _) => GlobalState::from_code(state).map(|it| is(global(it), !it.is_final())),
            (Self::Branch, _) => BranchState::from_code(state).map(|it| is(branch(it), !it.is_final())),
            (Self::TimerEvent, "") => {
                EventStatus::from_code(state).map(|it| is(event(it), it == EventStatus::Init))
            }
            (Self::TimerEvent, _) => Some(is("done", false)),
        };
        found.unwrap_or(is("unknown", true))
    }

    /// The numbers of the states in which a row that stands for a run has ended.
    pub fn ended(self) -> Vec<u8> {
        (0..=u8::MAX).filter(|state| !self.standing("", *state).is_open).collect()
    }
}

const SAGA: &str = "saga:";
const TIMER: &str = "timer:";
const TCC: &str = "tcc-global";
const BRANCH: &str = "tcc";

fn saga(state: SagaState) -> &'static str {
    match state {
        SagaState::Init => "init",
        SagaState::Committing => "committing",
        SagaState::ToRollback => "to_rollback",
        SagaState::Finish => "finish",
        SagaState::Fail => "fail",
    }
}

fn saga_step(state: SagaStepState) -> &'static str {
    match state {
        SagaStepState::Done => "done",
        SagaStepState::RolledBack => "rolled_back",
        SagaStepState::Calling => "calling",
    }
}

fn global(state: GlobalState) -> &'static str {
    match state {
        GlobalState::Trying => "trying",
        GlobalState::Confirming => "confirming",
        GlobalState::Confirmed => "confirmed",
        GlobalState::Cancelling => "cancelling",
        GlobalState::Cancelled => "cancelled",
    }
}

fn branch(state: BranchState) -> &'static str {
    match state {
        BranchState::Tried => "tried",
        BranchState::Confirmed => "confirmed",
        BranchState::Cancelled => "cancelled",
        BranchState::EmptyRollback => "empty_rollback",
    }
}

fn event(status: EventStatus) -> &'static str {
    match status {
        EventStatus::Init => "init",
        EventStatus::Success => "success",
        EventStatus::Timeout => "timeout",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_says_the_kind_and_a_range_has_the_scopes_of_its_kind_alone() {
        let scopes = [
            ("saga:transfer", Some(RunKind::Saga)),
            ("saga:", Some(RunKind::Saga)),
            ("timer:bill", Some(RunKind::TimerEvent)),
            ("tcc", Some(RunKind::Branch)),
            ("tcc-global", Some(RunKind::Tcc)),
            ("saga", None),
            ("sagas:x", None),
            ("tcc2", None),
            ("tcc-globals", None),
            ("timers", None),
            ("mails", None),
        ];
        for (scope, kind) in scopes {
            assert_eq!(RunKind::of_scope(scope), kind, "{scope}");
            for of in RunKind::ALL {
                let (first, end) = of.scopes();
                assert_eq!(*first <= *scope && *scope < *end, kind == Some(of), "{scope} {of:?}");
            }
            let (first, end) = RunKind::only(scope);
            let inside = scopes.iter().filter(|(other, _)| *first <= **other && **other < *end).count();
            assert_eq!(inside, 1, "{scope}");
        }
        assert_eq!(RunKind::Saga.scope("transfer"), "saga:transfer");
        assert_eq!(RunKind::TimerEvent.scope("timer:bill"), "timer:bill");
        assert_eq!(RunKind::Tcc.scope("anything"), "tcc-global");
    }

    /// Guard: a run in an unknown state is open | `standing`: it has ended
    #[test]
    fn what_has_ended_is_what_the_protocols_say_and_the_unknown_is_open() {
        let ended = |kind: RunKind| kind.ended();
        assert_eq!(ended(RunKind::Saga), [4, 5]);
        assert_eq!(ended(RunKind::Tcc), [2, 4]);
        assert_eq!(ended(RunKind::Branch), [1, 2, 3]);
        assert_eq!(ended(RunKind::TimerEvent), [1, 2]);
        let unknown = StepStanding { state: "unknown", is_open: true };
        assert!(RunKind::ALL.iter().all(|kind| kind.standing("", 99) == unknown));
        assert_eq!(RunKind::Saga.standing("debit", 3), StepStanding { state: "calling", is_open: true });
        assert_eq!(RunKind::Saga.standing("debit", 1), StepStanding { state: "done", is_open: false });
        assert_eq!(RunKind::Saga.standing("", 1), StepStanding { state: "init", is_open: true });
        let decided = RunKind::TimerEvent.standing("decision:bill", 1);
        assert_eq!(decided, StepStanding { state: "done", is_open: false });
    }

    #[test]
    fn a_branch_stands_for_itself_and_other_rows_for_their_run() {
        assert!(RunKind::Branch.is_head("stock") && RunKind::Saga.is_head(""));
        assert!(!RunKind::Saga.is_head("debit") && !RunKind::TimerEvent.is_head("hook"));
    }
}
