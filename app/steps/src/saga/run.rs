use claimstream_domain::{Fingerprint, Invalid, saga::SagaId, step::StepKey};
use serde::Serialize;

/// One saga that is being run: what its steps are given.
#[derive(Clone, Debug)]
pub struct SagaRun<I> {
    pub(super) row: StepKey,
    pub(super) id: SagaId,
    pub(super) owner: Box<str>,
    /// The input as it is stored, so that nothing of the request is lost.
    pub(super) json: Box<str>,
    pub(super) input: I,
}

impl<I> SagaRun<I> {
    /// Which saga it is.
    pub fn id(&self) -> SagaId {
        self.id
    }

    /// The owner that asked for it.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// What it is about.
    pub fn input(&self) -> &I {
        &self.input
    }

    /// The ledger's key of one of its steps.
    pub fn key(&self, step: &str) -> Result<StepKey, Invalid> {
        self.row.sibling(step)
    }

    /// Whether `other` asks for the same: by the same owner, and with an input that is the same to the type of today. A field that the
    /// type has gained has its default in an input that was stored before.
    pub(super) fn is_asked_as(&self, other: &Self) -> Result<bool, Invalid>
    where
        I: Serialize,
    {
        let json = serde_json::to_string(&self.input)
            .map_err(|e| Invalid::Malformed { what: "saga input", why: e.to_string() })?;
        Ok(self.owner == other.owner && *json == *other.json)
    }

    /// What it was asked with; the same id with anything else is refused.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&[self.owner.as_bytes(), self.json.as_bytes()])
    }
}
