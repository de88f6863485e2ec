use crate::Invalid;

/// How many steps a saga has, and before which of them its pivot is: the point after which it can only go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SagaPlan {
    steps: usize,
    pivot: usize,
}

impl SagaPlan {
    /// A plan of `steps` steps of which the first `pivot` can be undone; refuses one without steps, or with a pivot behind
    /// the last.
    pub fn new(steps: usize, pivot: usize) -> Result<Self, Invalid> {
        if steps == 0 {
            return Err(Invalid::Empty { what: "list of steps" });
        }
        if pivot > steps {
            return Err(Invalid::OutOfRange {
                what: "pivot",
                given: pivot.to_string(),
                allowed: format!("at most {steps}, the number of steps"),
            });
        }
        Ok(Self { steps, pivot })
    }

    /// How many steps there are.
    pub fn steps(self) -> usize {
        self.steps
    }

    /// How many steps stand before the pivot.
    pub fn pivot(self) -> usize {
        self.pivot
    }

    /// Whether the step can be undone.
    pub fn is_reversible(self, step: usize) -> bool {
        step < self.pivot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_plan_that_says_nothing() {
        assert!(SagaPlan::new(0, 0).is_err() && SagaPlan::new(2, 3).is_err());
        let plan = SagaPlan::new(4, 2).unwrap();
        assert!(plan.is_reversible(1) && !plan.is_reversible(2));
    }
}
