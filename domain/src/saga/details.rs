use serde::{Deserialize, Serialize};

use crate::{Invalid, Reason, step::StepResult};

/// What a saga's row keeps with its state: the steps that it was begun with, and why it was called off.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SagaDetails {
    steps: Vec<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Box<str>>,
}

impl SagaDetails {
    /// Those of a saga that begins with these steps.
    pub fn of_steps<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { steps: names.into_iter().map(Box::from).collect(), reason: None }
    }

    /// The same, called off.
    pub fn called_off(self, reason: &Reason) -> Self {
        Self { reason: Some(reason.as_str().into()), ..self }
    }

    /// What a row keeps. A row of an earlier build has the reason as text, and no steps.
    pub fn read(result: Option<&StepResult>) -> Self {
        let Some(bytes) = result.map(StepResult::as_bytes) else { return Self::default() };
        serde_json::from_slice(bytes).unwrap_or_else(|_| Self {
            reason: Some(String::from_utf8_lossy(bytes).into()),
            ..Self::default()
        })
    }

    /// As a row keeps it; refused if it is too long for one.
    pub fn result(&self) -> Result<StepResult, Invalid> {
        let text = serde_json::to_vec(self);
        StepResult::new(text.map_err(|e| Invalid::Malformed { what: "saga row", why: e.to_string() })?)
    }

    /// Why it was called off, if it was.
    pub fn reason(&self) -> Option<Reason> {
        self.reason.as_deref().map(Reason::new)
    }

    /// The first step that the saga was begun with and that today's list does not have in its order.
    ///
    /// Nothing would take such a step, and nothing would undo it. A step that the list has gained is taken or undone like any other.
    pub fn missing_in<'a>(&self, mut today: impl Iterator<Item = &'a str>) -> Option<&str> {
        self.steps.iter().map(Box::as_ref).find(|step| !today.any(|name| name == *step))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn details_come_back_from_a_row_and_a_reason_from_one_of_before() {
        let begun = SagaDetails::of_steps(["debit", "credit"]);
        assert_eq!(SagaDetails::read(Some(&begun.result().unwrap())), begun);
        let called_off = begun.clone().called_off(&Reason::new("too small"));
        let read = SagaDetails::read(Some(&called_off.result().unwrap()));
        assert_eq!((read.reason(), read.steps), (Some(Reason::new("too small")), begun.steps));
        let before = SagaDetails::read(Some(&StepResult::new(*b"too small").unwrap()));
        assert_eq!(
            (before.reason(), before.missing_in([].into_iter())),
            (Some(Reason::new("too small")), None)
        );
        assert_eq!(SagaDetails::read(None), SagaDetails::default());
    }

    proptest! {
        #[test]
        fn a_list_that_gained_steps_has_all_and_one_that_lost_or_moved_one_has_not(
            kept in prop::collection::vec(any::<bool>(), 1..8), lost in any::<prop::sample::Index>(),
        ) {
            let names: Vec<String> = (0..kept.len()).map(|n| format!("step {n}")).collect();
            let today = || names.iter().map(String::as_str);
            let begun = today().zip(&kept).filter(|(_, kept)| **kept).map(|(name, _)| name);
            let begun = SagaDetails::of_steps(begun);
            prop_assert_eq!(begun.missing_in(today()), None);
            if !begun.steps.is_empty() {
                let lost = &*begun.steps[lost.index(begun.steps.len())];
                prop_assert_eq!(begun.missing_in(today().filter(|name| *name != lost)), Some(lost));
            }
            let backwards = begun.missing_in(names.iter().rev().map(String::as_str));
            prop_assert_eq!(backwards.is_some(), begun.steps.len() > 1);
        }
    }
}
