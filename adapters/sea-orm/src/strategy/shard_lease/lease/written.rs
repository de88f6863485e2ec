use claimstream_ports::StoreError;

use crate::database::classify::may_have_committed;

/// How a transaction that writes a lease row ended.
pub(crate) enum Written {
    /// Committed, under the fence we knew.
    Yes,
    /// The fence is another one; nothing was written.
    No,
    /// The answer was lost.
    Unknown(StoreError),
}

impl Written {
    /// What the answer to a commit says.
    pub(crate) fn by_commit(answer: Result<(), StoreError>) -> Result<Self, StoreError> {
        match answer {
            Ok(()) => Ok(Self::Yes),
            Err(lost) if may_have_committed(&lost) => Ok(Self::Unknown(lost)),
            Err(error) => Err(error),
        }
    }
}
