/// Who holds the lease.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Holder {
    /// It is free.
    Free,
    /// A process that lives.
    Process(usize),
    /// A process that has died.
    Dead,
}
