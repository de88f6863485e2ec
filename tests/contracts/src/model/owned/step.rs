use proptest::prelude::*;

use crate::model::operation::{Operation, Side};

/// One operation on a store whose shards are owned.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// What is done to any store.
    Of(Operation),
    /// A process ends with all that it has in flight, and another takes its place.
    Crash { by: Side },
    /// Many messages come at once.
    Flood { by: Side, count: usize },
    /// Large claims follow each other, so that the store reads ahead for them.
    Drain { by: Side, claims: usize },
}

impl Step {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            20 => Operation::any().prop_map(Self::Of),
            2 => Side::any().prop_map(|by| Self::Crash { by }),
            1 => (Side::any(), 100..250_usize).prop_map(|(by, count)| Self::Flood { by, count }),
            1 => (Side::any(), 2..6_usize).prop_map(|(by, claims)| Self::Drain { by, claims }),
        ]
    }

    /// Which instance continues with what was read ahead, if one does.
    pub(super) fn drains(&self) -> Option<Side> {
        match self {
            Self::Drain { by, .. } => Some(*by),
            _ => None,
        }
    }
}
