/// Something that a protocol owes, whatever happens.
#[derive(Clone, Copy)]
pub struct Promise<S> {
    /// What is promised, in words.
    pub name: &'static str,
    /// What must hold for it.
    pub requirement: Requirement<S>,
}

/// What a promise asks of the states that can be reached.
#[derive(Clone, Copy)]
pub enum Requirement<S> {
    /// It holds in each.
    Always(fn(&S) -> bool),
    /// It holds for each step from one to another.
    EveryStep(fn(&S, &S) -> bool),
    /// From each, one in which it holds can be reached: nothing that has happened stands in the way for ever.
    StillPossible(fn(&S) -> bool),
    /// It holds in at least one: the model does reach what it is about.
    Happens(fn(&S) -> bool),
}

impl<S> Promise<S> {
    /// It holds in every state.
    pub fn always(name: &'static str, holds: fn(&S) -> bool) -> Self {
        Self { name, requirement: Requirement::Always(holds) }
    }

    /// It holds for every step.
    pub fn every_step(name: &'static str, holds: fn(&S, &S) -> bool) -> Self {
        Self { name, requirement: Requirement::EveryStep(holds) }
    }

    /// Whatever has happened, it can still come about.
    pub fn still_possible(name: &'static str, goal: fn(&S) -> bool) -> Self {
        Self { name, requirement: Requirement::StillPossible(goal) }
    }

    /// It does come about somewhere, so that what is said about it is not said about nothing.
    pub fn happens(name: &'static str, goal: fn(&S) -> bool) -> Self {
        Self { name, requirement: Requirement::Happens(goal) }
    }
}
