/// A rule of the protocol that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A producer writes by the count that it knew when it began, whatever has happened since.
    BelievesWhatItKnew,
    /// The cut does not wait for transactions that write by the old count.
    CutsAcross,
    /// The oldest message of a key is moved before the younger ones.
    MovesOldestFirst,
    /// A message that a relay has in hand is moved like any other.
    MovesWhatIsHeld,
    /// A move does not change the fence of the shard's lease, so a relay claims what it has read before.
    MovesWithoutFence,
    /// The new shard is opened when nothing waits in the old one, although something is in hand there.
    OpensTooSoon,
}
