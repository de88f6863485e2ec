use crate::database::{sql::Sql, statements::Statements};

/// The function by which a claim marks the due rows of a shard as its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Marking {
    /// Locks due rows, steps over those that another claim is taking, then marks them: no claim waits for another.
    SkipLocked,
    /// Marks due rows in one statement: works on every server; instances wait for each other at a shard's first rows.
    PreemptiveUpdate,
}

impl Marking {
    /// The statement that finds due rows, by its name.
    pub(super) fn due_statement(self, sql: &Statements) -> (&'static str, &Sql) {
        match self {
            Self::SkipLocked => ("claim_lock", &sql.claim.lock),
            Self::PreemptiveUpdate => ("claim_take", &sql.claim.take),
        }
    }
}
