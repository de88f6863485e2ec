//! Sagas in a small world: any number of runners with views of their own, which crash, come twice and come late.
//!
//! Every action is one local transaction, as a store would make it. Guards can be left out, to show that they are needed.

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner},
};

use super::{
    SagaEntry, SagaNext, SagaPlan, SagaState,
    SagaState::{Fail, Finish, Init, ToRollback},
    SagaStepState,
    SagaStepState::{Done, RolledBack},
    SagaView, Unbegun,
};

/// What keeps runners from spoiling each other's work.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Without {
    Nothing,
    Tombstone,
    Pivot,
    Version,
    UniqueKey,
}

/// What a step does to which account: two debits, the pivot, two credits.
#[derive(Clone, Copy, Debug)]
struct Effect {
    account: usize,
    amount: i64,
}

/// Two sagas over three accounts.
const SAGAS: [[Effect; 4]; 2] = [
    [debit(0, 100), debit(1, 40), credit(2, 100), credit(1, 40)],
    [debit(1, 30), debit(2, 60), credit(0, 60), credit(1, 30)],
];
const OPENING: [i64; 3] = [150, 100, 0];

const fn debit(account: usize, amount: i64) -> Effect {
    Effect { account, amount: -amount }
}

const fn credit(account: usize, amount: i64) -> Effect {
    Effect { account, amount }
}

#[derive(Default)]
struct Saga {
    row: Option<(SagaState, u64)>,
    steps: [Option<SagaStepState>; 4],
}

struct World {
    without: Without,
    accounts: [i64; 3],
    sum: i64,
    sagas: [Saga; 2],
    broken: bool,
}

/// A runner in the middle of a saga, with what has been seen of it.
struct Runner {
    saga: usize,
    entry: SagaEntry,
    row: Option<(SagaState, u64)>,
    steps: [Option<SagaStepState>; 4],
    called_off: bool,
}

impl World {
    fn new(without: Without) -> Self {
        Self {
            without,
            accounts: OPENING,
            sum: OPENING.iter().sum(),
            sagas: Default::default(),
            broken: false,
        }
    }

    fn plan(&self) -> SagaPlan {
        let pivot = if self.without == Without::Pivot { 4 } else { 2 };
        SagaPlan::new(4, pivot).unwrap()
    }

    fn enter(&self, saga: usize, entry: SagaEntry) -> Runner {
        Runner { saga, entry, row: self.sagas[saga].row, steps: [None; 4], called_off: false }
    }

    /// One transaction of a runner; `false` if there is nothing more to do for it.
    fn act(&mut self, runner: &mut Runner) -> bool {
        let view = SagaView { saga: runner.row.map(|(state, _)| state), steps: &runner.steps };
        match self.plan().next(runner.entry, Unbegun::Run, view) {
            _ if runner.called_off => {
                runner.called_off = false;
                self.advance(runner, Init, ToRollback);
            }
            SagaNext::Begin(state) => {
                let row = &mut self.sagas[runner.saga].row;
                runner.row = Some(*row.get_or_insert((state, 1)));
            }
            SagaNext::Forward(step) => self.forward(runner, step),
            SagaNext::Undo(step) => self.undo(runner, step),
            SagaNext::Move(from, to) => self.advance(runner, from, to),
            SagaNext::Over | SagaNext::TooLate => return false,
            SagaNext::Broken(_) => {
                self.broken = true;
                return false;
            }
        }
        true
    }

    /// The saga's row moves if it is as it was seen; otherwise it is looked at again.
    fn advance(&mut self, runner: &mut Runner, from: SagaState, to: SagaState) {
        let row = &mut self.sagas[runner.saga].row;
        if *row == runner.row || self.without == Without::Version {
            *row = row.map(|(_, version)| (to, version + 1));
        }
        debug_assert!(from.may_become(to));
        runner.row = *row;
    }

    fn forward(&mut self, runner: &mut Runner, step: usize) {
        let row = self.sagas[runner.saga].steps[step];
        if let Some(known) = row.filter(|_| self.without != Without::UniqueKey) {
            runner.steps[step] = Some(known);
            return;
        }
        let effect = SAGAS[runner.saga][step];
        if self.accounts[effect.account] + effect.amount < 0 {
            runner.called_off = true;
            return;
        }
        self.accounts[effect.account] += effect.amount;
        self.note(runner, step, Done);
    }

    fn undo(&mut self, runner: &mut Runner, step: usize) {
        match self.sagas[runner.saga].steps[step] {
            None if self.without == Without::Tombstone => runner.steps[step] = Some(RolledBack),
            None => self.note(runner, step, RolledBack),
            Some(Done) if self.plan().is_reversible(step) => {
                let effect = SAGAS[runner.saga][step];
                self.accounts[effect.account] -= effect.amount;
                self.note(runner, step, RolledBack);
            }
            Some(known) => runner.steps[step] = Some(known),
        }
    }

    fn note(&mut self, runner: &mut Runner, step: usize, state: SagaStepState) {
        self.sagas[runner.saga].steps[step] = Some(state);
        runner.steps[step] = Some(state);
    }

    /// Delivers the check of each saga until it is over, as the outbox would.
    fn settle(&mut self) {
        for saga in 0..SAGAS.len() {
            let mut runner = self.enter(saga, SagaEntry::Check);
            let bound = 100;
            assert!((0..bound).any(|_| !self.act(&mut runner)), "saga {saga} does not come to an end");
        }
    }

    fn complaint(&self) -> Option<String> {
        let sum: i64 = self.accounts.iter().sum();
        let sagas = self.sagas.iter().map(|saga| (saga.row.map(|(state, _)| state), saga.steps));
        let agrees = |(row, steps): (Option<SagaState>, [Option<SagaStepState>; 4])| match row {
            Some(Finish) => steps == [Some(Done); 4],
            Some(Fail) => steps == [Some(RolledBack); 4],
            _ => false,
        };
        if self.broken {
            return Some("a saga is broken".into());
        }
        if sum != self.sum {
            return Some(format!("the sum is {sum}, it was {}", self.sum));
        }
        if let Some(account) = self.accounts.iter().position(|balance| *balance < 0) {
            return Some(format!("account {account} is below zero"));
        }
        let odd = sagas.clone().find(|saga| !agrees(*saga));
        odd.map(|(row, steps)| format!("a saga is {row:?} and its steps are {steps:?}"))
    }
}

/// What happens next in the world.
#[derive(Clone, Debug)]
enum Act {
    Enter(usize, SagaEntry),
    /// One of the runners makes so many transactions.
    Run(usize, usize),
    Crash(usize),
    /// A customer pays in.
    TopUp(usize, i64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let entries = vec![SagaEntry::Start, SagaEntry::Check, SagaEntry::Check, SagaEntry::RollBack];
    let entry = prop::sample::select(entries);
    let act = prop_oneof![
        2 => (0..SAGAS.len(), entry).prop_map(|(saga, entry)| Act::Enter(saga, entry)),
        8 => (0..6_usize, 1..5_usize).prop_map(|(runner, times)| Act::Run(runner, times)),
        1 => (0..6_usize).prop_map(Act::Crash),
        1 => (0..3_usize, 10..60_i64).prop_map(|(account, amount)| Act::TopUp(account, amount)),
    ];
    prop::collection::vec(act, 1..60)
}

fn play(acts: &[Act], without: Without) -> Option<String> {
    let mut world = World::new(without);
    let mut runners: Vec<Runner> = Vec::new();
    for act in acts {
        match *act {
            Act::Enter(saga, entry) => runners.push(world.enter(saga, entry)),
            Act::Run(..) | Act::Crash(_) if runners.is_empty() => {}
            Act::Run(nth, times) => {
                let at = nth % runners.len();
                for _ in 0..times {
                    world.act(&mut runners[at]);
                }
            }
            Act::Crash(nth) => drop(runners.swap_remove(nth % runners.len())),
            Act::TopUp(account, amount) => {
                world.accounts[account] += amount;
                world.sum += amount;
            }
        }
    }
    world.settle();
    // A runner that was paused in the middle of something continues it now.
    for runner in &mut runners {
        for _ in 0..20 {
            world.act(runner);
        }
    }
    world.settle();
    world.complaint()
}

fn explore(without: Without, cases: u32) -> Result<(), String> {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let found = runner.run(&acts(), |acts| match play(&acts, without) {
        None => Ok(()),
        Some(complaint) => Err(TestCaseError::fail(complaint)),
    });
    found.map_err(|error| match error {
        TestError::Fail(reason, acts) => format!("{reason}: {acts:?}"),
        TestError::Abort(reason) => reason.to_string(),
    })
}

#[test]
fn s4b_p_money_is_conserved_and_every_saga_ends_whatever_happens_in_whatever_order() {
    assert_eq!(explore(Without::Nothing, 5_000), Ok(()));
}

#[test]
fn s4_f2_without_tombstones_a_late_step_takes_money_for_good() {
    assert!(explore(Without::Tombstone, 20_000).is_err());
}

#[test]
fn s4_f5_without_a_pivot_what_was_credited_has_to_be_taken_back() {
    let complaint = explore(Without::Pivot, 20_000).expect_err("a payee who has spent the money");
    assert!(complaint.contains("below zero"), "{complaint}");
}

#[test]
fn s4_4_without_the_version_both_ways_are_taken() {
    assert!(explore(Without::Version, 20_000).is_err());
}

#[test]
fn s4_4_without_the_unique_key_a_step_is_taken_twice() {
    assert!(explore(Without::UniqueKey, 20_000).is_err());
}
