/// A fault of the source texts that can be put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// S0.F1: a claim takes what is new or has failed, so what was claimed stays claimed when its lease has run out.
    ExpiredIsNeverReclaimed,
    /// S0.F4: a settlement shows the instance and not the claim.
    FencedByInstance,
    /// S0.F7: an attempt counts when it is settled, so one that kills its worker does not count.
    CountedWhenSettled,
    /// A worker whose lease ran out for a slow table has the attempt taken back each time.
    ExcusedWithoutEnd,
    /// S1.F1: the owner of a claimed message is never taken back, and a claim takes only what has no owner.
    NeverReleased,
    /// S1.F5: a settlement shows nothing at all.
    NotFenced,
}
