use std::{fmt::Display, hash::Hash};

use crate::Promise;

/// A protocol, small enough that everything that can happen to it can be tried.
pub trait Protocol {
    /// Where everybody stands, and what lies in the tables and on the network.
    type State: Clone + Eq + Hash;
    /// Something that happens; it displays as a sentence.
    type Step: Display;

    /// Where it begins.
    fn start(&self) -> Self::State;

    /// Everything that can happen next, and where it leads.
    fn steps(&self, state: &Self::State) -> Vec<(Self::Step, Self::State)>;

    /// What must hold.
    fn promises(&self) -> Vec<Promise<Self::State>>;
}
