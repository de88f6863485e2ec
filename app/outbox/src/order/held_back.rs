use std::iter::Sum;

use claimstream_domain::Claimed;

/// How much is kept back behind messages of the same key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HeldBack {
    pub(crate) messages: usize,
    /// Of their payloads.
    pub(crate) bytes: usize,
}

impl HeldBack {
    pub(crate) fn of(claimed: &Claimed) -> Self {
        Self { messages: 1, bytes: claimed.message.payload.bytes().len() }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { messages: self.messages + other.messages, bytes: self.bytes + other.bytes }
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self { messages: self.messages - other.messages, bytes: self.bytes - other.bytes }
    }
}

impl Sum for HeldBack {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::and)
    }
}
