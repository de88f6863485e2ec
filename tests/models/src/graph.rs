use std::hash::Hash;

use foldhash::fast::FixedState;
use indexmap::{IndexMap, map::Entry};

use crate::{Broken, Exploration, Protocol, Requirement};

/// All states that can be reached, in the order in which they were first met, and what leads from where to where.
pub(crate) struct Graph<S> {
    /// Each state with the one from which it was first met.
    states: IndexMap<S, usize, FixedState>,
    /// Pairs of states with a step between them, in the order of the first one.
    edges: Vec<(usize, usize)>,
}

/// Where a promise is broken.
#[derive(Clone, Copy)]
pub(crate) enum Breach {
    /// In a state.
    State(usize),
    /// On the way from one state to another.
    Step(usize, usize),
}

impl<S: Clone + Eq + Hash> Graph<S> {
    /// Follows every step of every state, or ends behind the first step for which `enough` holds.
    pub(crate) fn of<P: Protocol<State = S>>(
        protocol: &P,
        most: usize,
        enough: impl Fn(&S, &S) -> bool,
    ) -> Self {
        let mut graph = Self { states: IndexMap::default(), edges: Vec::new() };
        graph.states.insert(protocol.start(), 0);
        let mut from = 0;
        while let Some((state, _)) = graph.states.get_index(from) {
            let state = state.clone();
            for (_, next) in protocol.steps(&state) {
                let end = enough(&state, &next);
                graph.add(from, next);
                if end {
                    return graph;
                }
            }
            assert!(graph.states.len() <= most, "more than {most} states: the bounds are too wide");
            from += 1;
        }
        graph
    }

    fn add(&mut self, from: usize, next: S) {
        let to = match self.states.entry(next) {
            Entry::Occupied(entry) => entry.index(),
            Entry::Vacant(entry) => {
                let index = entry.index();
                entry.insert(from);
                index
            }
        };
        self.edges.push((from, to));
    }

    fn state(&self, at: usize) -> &S {
        self.states.get_index(at).map(|(state, _)| state).expect("a state that was met")
    }

    /// Where a requirement is not met for the first time.
    pub(crate) fn first_breach(&self, requirement: &Requirement<S>) -> Option<Breach> {
        match requirement {
            Requirement::Always(holds) => {
                self.states.keys().position(|state| !holds(state)).map(Breach::State)
            }
            Requirement::EveryStep(holds) => {
                let broken = |(from, to): &&(usize, usize)| !holds(self.state(*from), self.state(*to));
                self.edges.iter().find(broken).map(|(from, to)| Breach::Step(*from, *to))
            }
            Requirement::StillPossible(goal) => {
                self.can_reach(*goal).iter().position(|can| !can).map(Breach::State)
            }
            Requirement::Happens(goal) => (!self.states.keys().any(goal)).then_some(Breach::State(0)),
        }
    }

    /// From which states one can be reached for which `goal` holds.
    fn can_reach(&self, goal: fn(&S) -> bool) -> Vec<bool> {
        let mut can: Vec<bool> = self.states.keys().map(goal).collect();
        // Most steps lead away from the start, so few rounds from behind are enough.
        loop {
            let mut grown = false;
            for (from, to) in self.edges.iter().rev() {
                grown |= can[*to] && !can[*from];
                can[*from] |= can[*to];
            }
            if !grown {
                return can;
            }
        }
    }

    /// The pairs of states on the way to the breach.
    pub(crate) fn course(&self, breach: Breach) -> Vec<(&S, &S)> {
        let (mut at, mut path) = match breach {
            Breach::State(at) => (at, vec![at]),
            Breach::Step(from, to) => (from, vec![to, from]),
        };
        while at != 0 {
            at = self.states[at];
            path.push(at);
        }
        path.reverse();
        path.windows(2).map(|pair| (self.state(pair[0]), self.state(pair[1]))).collect()
    }

    /// The graph in figures, and what was found in it.
    pub(crate) fn exploration(&self, broken: Vec<Broken>) -> Exploration {
        let mut depths: Vec<usize> = Vec::with_capacity(self.states.len());
        for (at, parent) in self.states.values().enumerate() {
            depths.push(if at == 0 { 0 } else { depths[*parent] + 1 });
        }
        let depth = depths.last().copied().unwrap_or(0);
        Exploration { broken, states: self.states.len(), steps: self.edges.len(), depth }
    }
}
