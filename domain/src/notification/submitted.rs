use crate::Fingerprint;

/// What became of a request that was handed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submitted {
    /// It is taken in once the caller commits.
    New,
    /// It was taken in before, the very same; nothing was changed.
    Replayed,
    /// Another request was taken in under its id; this one is refused and nothing was changed.
    Conflict,
}

impl Submitted {
    /// The answer for a request whose id is known, from its fingerprint and that of the request that was taken in.
    pub fn again(given: Fingerprint, known: Fingerprint) -> Self {
        if given == known { Self::Replayed } else { Self::Conflict }
    }
}
