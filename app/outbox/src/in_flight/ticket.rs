/// The number of one open claim of a stream, given in the order in which claims came in and never again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Ticket(pub(crate) u64);
