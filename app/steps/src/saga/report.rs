use std::time::Duration;

use claimstream_domain::{
    Reason,
    saga::{SagaDetails, SagaId, SagaRecord, SagaState},
};

/// A saga as its owner sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SagaReport<I> {
    /// Which one; [`Saga::proceed`](super::Saga::proceed) takes it.
    pub id: SagaId,
    /// What it is about; nothing if that cannot be read any longer.
    pub input: Option<I>,
    /// Where it stands; nothing if its row was purged long after its end, or says something that is no state.
    pub state: Option<SagaState>,
    /// Why it was called off, if it was.
    pub reason: Option<Reason>,
    /// How long ago it was asked for.
    pub age: Duration,
}

impl<I: serde::de::DeserializeOwned> SagaReport<I> {
    pub(super) fn of(record: SagaRecord) -> Self {
        let row = record.row.as_ref();
        Self {
            id: record.id,
            input: serde_json::from_str(&record.input).ok(),
            state: row.and_then(|row| SagaState::of_code(row.state)),
            reason: row.and_then(|row| SagaDetails::read(row.result.as_ref()).reason()),
            age: record.age,
        }
    }
}
