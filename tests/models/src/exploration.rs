use std::fmt;

/// What came of following courses of events.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The promises that were broken.
    pub broken: Vec<Broken>,
    /// How many states were met.
    pub states: usize,
    /// How many steps were followed.
    pub steps: usize,
    /// How many steps the last state met is away from the start; none that was met is farther.
    pub depth: usize,
}

/// A promise that was broken, and how it came to that.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The promise.
    pub promise: &'static str,
    /// The steps of a shortest course to the breach; none if something never happens.
    pub course: Vec<String>,
}

impl Exploration {
    /// How it came that this promise was broken, or `None` if it was kept.
    pub fn course(&self, promise: &str) -> Option<&[String]> {
        self.broken.iter().find(|broken| broken.promise == promise).map(|broken| &broken.course[..])
    }
}

impl fmt::Display for Exploration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { broken, states, steps, depth } = self;
        write!(f, "{states} states, {steps} steps, depth {depth}")?;
        for Broken { promise, course } in broken {
            write!(f, "\n  broken: {promise}")?;
            for (n, step) in course.iter().enumerate() {
                write!(f, "\n  {:>3}. {step}", n + 1)?;
            }
        }
        Ok(())
    }
}
