/// A fault that can be put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A settlement does not show the fence.
    NotFenced,
    /// A settlement is sent without a look into the books.
    NotInTheBooks,
    /// A settlement finds its message by the id alone, wherever it is due meanwhile.
    FoundByIdAlone,
    /// A shard that was free is taken under the fence that it had.
    SameFence,
    /// A shard that was free is taken under the fence that it had, if the process has something in flight by its books.
    FenceOfTheBooks,
    /// A process that has kept a shard with nothing in flight goes on there under the same fence.
    KeptFence,
    /// A take-over counts no attempt for what was in flight.
    NotCharged,
    /// The release of a lease counts no attempt for what was in flight.
    ReleasedUncharged,
    /// A process that hands out again what has run out in its own books counts no attempt.
    NotCountedAtHome,
    /// A message is handed out although the claim may not have been written, and it was not.
    HandedOutUnwritten,
    /// A row whose fence went back is ignored as long as the books have anything in flight.
    WaitsForItsFence,
}

impl Fault {
    /// Whether writes under an old fence find a shard that is free, too.
    pub(super) fn takes_what_is_free(self) -> bool {
        matches!(self, Self::SameFence | Self::FenceOfTheBooks)
    }
}
