use std::fmt;

/// How much is drawn, and what from.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// How many begin at one time.
    pub at_once: usize,
    /// Where the lots come from; which runs overlap is not drawn.
    pub seed: u64,
}

impl Draw {
    /// As many as a suite has time for.
    pub(crate) fn some(backend: &str) -> Vec<Self> {
        let draws = if backend == "memory" { 12 } else { 2 };
        (1..=draws).map(|seed| Self { at_once: 18, seed }).collect()
    }
}

/// How what was drawn has ended.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ends {
    /// As it should, if nothing was in the way.
    pub made: usize,
    /// As if it had never begun.
    pub called_off: usize,
    /// Died before anything was written.
    pub never_begun: usize,
    /// What was done to them.
    pub mishaps: usize,
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { made, called_off, never_begun, mishaps } = self;
        write!(f, "{made} made, {called_off} called off, {never_begun} never begun; {mishaps} mishaps")
    }
}
