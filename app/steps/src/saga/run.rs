use claimstream_domain::{Fingerprint, Invalid, saga::SagaId, step::StepKey};

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
        self.row.beside(step)
    }

    /// What it was asked with; the same id with anything else is refused.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&[self.owner.as_bytes(), self.json.as_bytes()])
    }
}
