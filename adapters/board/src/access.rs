use std::{fmt, sync::Arc};

/// Who gets in.
#[derive(Clone)]
pub enum Access {
    /// Everybody who reaches the router may do everything: for an address of this machine alone, or behind a service that has
    /// checked its callers itself.
    Everyone,
    /// People who show a token.
    Users(Arc<dyn Users>),
}

/// Knows people by their tokens.
pub trait Users: Send + Sync {
    /// The user who shows a token; `None` if it is unknown. It takes the same time however much of a token is right.
    fn identify(&self, token: &str) -> Option<User>;
}

/// A person in front of the board.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// The name that changes are noted under: one line of at most 64 bytes, or the board refuses them.
    pub name: String,
    /// What the user may do.
    pub right: Right,
}

/// What a user may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// To see everything.
    Look,
    /// To see everything, and to revive, to purge, to pause and to resume.
    Change,
}

impl Access {
    /// The user of a board that asks for no token.
    pub(crate) fn anonymous() -> User {
        User { name: "anonymous".into(), right: Right::Change }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Everyone => "Everyone",
            Self::Users(_) => "Users",
        })
    }
}
