//! Steps: records that are written in the transaction of an effect.

mod key;
mod run_kind;
mod run_list;
mod step_retention;

use uuid::Uuid;

use crate::{Fingerprint, Invalid};

pub use key::StepKey;
pub use run_kind::{RunKind, StepStanding};
pub use run_list::{RunEnds, RunFilter, RunListed, RunPage, RunPlace, StepListed};
pub use step_retention::StepRetention;

/// The result that a repeated step finds: at most [`MAX_BYTES`](Self::MAX_BYTES), of any form.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StepResult(Box<[u8]>);

impl StepResult {
    /// The longest result, in bytes.
    pub const MAX_BYTES: usize = 65_535;

    /// Takes a result; refuses one longer than [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Result<Self, Invalid> {
        let bytes = bytes.into();
        match bytes.len() {
            len if len > Self::MAX_BYTES => {
                Err(Invalid::TooLong { what: "step result", len, max: Self::MAX_BYTES })
            }
            _ => Ok(Self(bytes)),
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A step that is to be begun.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewStep {
    /// Which one.
    pub key: StepKey,
    /// Its first state, a number whose meaning is the caller's.
    pub state: u8,
    /// What it was asked with, if a repeat with something else is to be found out.
    pub fingerprint: Option<Fingerprint>,
    /// What it leaves, if that is known already.
    pub result: Option<StepResult>,
}

impl NewStep {
    /// A step without fingerprint and result.
    pub fn new(key: StepKey, state: u8) -> Self {
        Self { key, state, fingerprint: None, result: None }
    }

    /// The same step with the fingerprint of its input; a repeat with another one is a conflict.
    pub fn asked_with(self, fingerprint: Fingerprint) -> Self {
        Self { fingerprint: Some(fingerprint), ..self }
    }

    /// The same step with the result that a repeat finds.
    pub fn with_result(self, result: StepResult) -> Self {
        Self { result: Some(result), ..self }
    }

    /// The step as it stands when it has just been begun.
    pub fn begun(&self) -> Step {
        Step {
            state: self.state,
            version: Step::FIRST_VERSION,
            fingerprint: self.fingerprint,
            result: self.result.clone(),
            origin: Uuid::nil(),
        }
    }
}

/// A step as it stands. Two are equal if they stand alike, whatever wrote them.
#[derive(Clone, Eq, Debug)]
pub struct Step {
    /// Its state, a number whose meaning is the caller's.
    pub state: u8,
    /// Grows with every change.
    pub version: u64,
    /// What it was begun with.
    pub fingerprint: Option<Fingerprint>,
    /// What it has left.
    pub result: Option<StepResult>,
    /// Which call wrote it last; no two calls share one.
    pub origin: Uuid,
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        let of = |step: &Self| (step.state, step.version, step.fingerprint);
        of(self) == of(other) && self.result == other.result
    }
}

impl Step {
    /// The state of a step whose effect failed and of which a part stands, because a statement of it ended the transaction.
    pub const BROKEN: u8 = u8::MAX;

    /// The version of a step that has just been begun.
    pub const FIRST_VERSION: u64 = 1;

    /// The step after a change.
    pub fn changed(&self, change: &StepChange) -> Self {
        Self {
            state: change.state,
            version: self.version + 1,
            fingerprint: self.fingerprint,
            result: change.result.clone().or_else(|| self.result.clone()),
            origin: self.origin,
        }
    }

    /// The same step, written by this call.
    pub fn written_by(self, origin: Uuid) -> Self {
        Self { origin, ..self }
    }

    /// Whether a part of its effect stands though the effect failed.
    pub fn is_broken(&self) -> bool {
        self.state == Self::BROKEN
    }
}

/// A change of a step: its next state, and its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepChange {
    /// Its next state.
    pub state: u8,
    /// What it leaves from now on; without one, that which it has left stays.
    pub result: Option<StepResult>,
}

impl StepChange {
    /// A change of the state alone.
    pub fn to(state: u8) -> Self {
        Self { state, result: None }
    }

    /// The same change with the result that a repeat finds.
    pub fn with_result(self, result: StepResult) -> Self {
        Self { result: Some(result), ..self }
    }
}

/// How beginning a step ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Begun {
    /// This call began it.
    New(Step),
    /// It was there already.
    Found(Step),
}

/// The answer of an existing step to a caller that wants to begin it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeat<'a> {
    /// The same was asked again: this is what it has left.
    Same(Option<&'a StepResult>),
    /// Something else was asked under the same key.
    Conflict,
}

/// The one place that decides whether a step that was found is a repeat. Fingerprints are compared where both sides have
/// one.
pub fn repeat<'a>(asked: Option<&Fingerprint>, found: &'a Step) -> Repeat<'a> {
    match (asked, &found.fingerprint) {
        (Some(asked), Some(first)) if asked != first => Repeat::Conflict,
        _ => Repeat::Same(found.result.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> StepKey {
        StepKey::new("transfer", "7", "debit").unwrap()
    }

    #[test]
    fn results_are_bounded() {
        assert!(StepResult::new(vec![0; StepResult::MAX_BYTES]).is_ok());
        assert!(StepResult::new(vec![0; StepResult::MAX_BYTES + 1]).is_err());
    }

    #[test]
    fn a_repeat_answers_the_result_and_another_payload_is_a_conflict() {
        let (one, other) = (Fingerprint::of(&[b"1"]), Fingerprint::of(&[b"2"]));
        let result = StepResult::new(*b"done").unwrap();
        let found = NewStep::new(key(), 1).asked_with(one).with_result(result.clone()).begun();
        assert_eq!(repeat(Some(&one), &found), Repeat::Same(Some(&result)));
        assert_eq!(repeat(None, &found), Repeat::Same(Some(&result)));
        assert_eq!(repeat(Some(&other), &found), Repeat::Conflict);
        let open = NewStep::new(key(), 1).begun();
        assert_eq!(repeat(Some(&other), &open), Repeat::Same(None));
    }

    #[test]
    fn a_change_without_a_result_keeps_the_one_that_is_there() {
        let result = StepResult::new(*b"done").unwrap();
        let first = NewStep::new(key(), 1).begun();
        let second = first.changed(&StepChange::to(2).with_result(result.clone()));
        let third = second.changed(&StepChange::to(1));
        assert_eq!((third.state, third.version), (1, 3));
        assert_eq!(third.result, Some(result));
    }
}
