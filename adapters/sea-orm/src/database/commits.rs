/// When a connection commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Commits {
    /// After every statement, as connections of the pool do.
    Itself,
    /// At `COMMIT`: a transaction needs no `BEGIN`.
    Explicitly,
}
