use std::time::Duration;

use super::{SagaId, SagaOrder, SagaOrderKind};
use crate::{Invalid, step::Step};

/// A saga that is to be noted: its name, its owner and its input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSaga {
    /// The kind of saga, as it stands in the keys of its steps.
    pub scope: Box<str>,
    /// Which one.
    pub id: SagaId,
    /// The owner that asked for it.
    pub owner: Box<str>,
    /// What it is about, as JSON.
    pub input: Box<str>,
}

impl NewSaga {
    /// The longest owner, in bytes.
    pub const MAX_OWNER: usize = 255;

    /// The longest input, in bytes.
    pub const MAX_INPUT: usize = 65_535;

    /// Refuses an owner without a name, and a value that is longer than its column.
    pub fn check(&self) -> Result<(), Invalid> {
        Invalid::unless_length("saga owner", &self.owner, Self::MAX_OWNER)?;
        Invalid::unless_length("saga input", &self.input, Self::MAX_INPUT)
    }
}

/// A saga that was noted, and how it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SagaRecord {
    /// Which one.
    pub id: SagaId,
    /// The owner that asked for it.
    pub owner: Box<str>,
    /// What it is about, as JSON.
    pub input: Box<str>,
    /// The saga's row in the step ledger, unless it has been purged.
    pub row: Option<Step>,
    /// How long ago it was noted, by the store's clock.
    pub age: Duration,
}

impl SagaRecord {
    /// The order that brings the saga to its end, as its check message carries it.
    pub fn order(&self) -> Result<SagaOrder, Invalid> {
        let input = serde_json::from_str(&self.input);
        let input = input.map_err(|e| Invalid::Malformed { what: "saga input", why: e.to_string() })?;
        Ok(SagaOrder { order: SagaOrderKind::Check, saga: self.id, owner: self.owner.to_string(), input })
    }
}
