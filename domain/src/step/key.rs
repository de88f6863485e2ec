use std::fmt;

use crate::Invalid;

/// The identity of a step, compared byte by byte: the taker of steps, its run, and the step of the run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepKey {
    scope: Box<str>,
    run: Box<str>,
    step: Box<str>,
}

impl StepKey {
    /// The longest scope, in bytes.
    pub const MAX_SCOPE: usize = 100;
    /// The longest run, in bytes.
    pub const MAX_RUN: usize = 255;
    /// The longest step, in bytes.
    pub const MAX_STEP: usize = 100;

    /// Takes a key; refuses an empty scope or run, and parts that are too long. The step may be empty: it then stands for the
    /// run as a whole.
    pub fn new(scope: &str, run: &str, step: &str) -> Result<Self, Invalid> {
        Invalid::unless_length("step scope", scope, Self::MAX_SCOPE)?;
        Invalid::unless_length("step run", run, Self::MAX_RUN)?;
        if !step.is_empty() {
            Invalid::unless_length("step name", step, Self::MAX_STEP)?;
        }
        Ok(Self { scope: scope.into(), run: run.into(), step: step.into() })
    }

    /// The key of another step of the same run; refused if its name is too long.
    pub fn sibling(&self, step: &str) -> Result<Self, Invalid> {
        Self::new(&self.scope, &self.run, step)
    }

    /// The taker of steps: a consumer, a TCC resource, a saga.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Which run of it: a message, a transaction, a saga instance.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Which step of the run.
    pub fn step(&self) -> &str {
        &self.step
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scope, self.run)?;
        if self.step.is_empty() { Ok(()) } else { write!(f, "/{}", self.step) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_a_scope_and_a_run_and_bounded_parts() {
        assert_eq!(StepKey::new("", "7", "debit"), Err(Invalid::Empty { what: "step scope" }));
        assert_eq!(StepKey::new("tcc:stock", "", ""), Err(Invalid::Empty { what: "step run" }));
        assert_eq!(StepKey::new("event:7", "m", "").unwrap().to_string(), "event:7/m");
        assert_eq!(
            StepKey::new("transfer", "7", "debit").unwrap().sibling("credit").unwrap().to_string(),
            "transfer/7/credit"
        );
        let long = |n: usize| "x".repeat(n);
        assert!(StepKey::new(&long(100), &long(255), &long(100)).is_ok());
        for (scope, run, step) in [(101, 1, 1), (1, 256, 1), (1, 1, 101)] {
            let refused = StepKey::new(&long(scope), &long(run), &long(step));
            assert!(matches!(refused, Err(Invalid::TooLong { .. })), "{refused:?}");
        }
    }
}
