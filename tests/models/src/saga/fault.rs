/// A fault that can be put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// S4.F1: a check does not know the state that a credit has written, and reports a bug.
    CreditIsNotRecognised,
    /// S4.F2: who undoes a step that was never taken leaves no tombstone.
    NoTombstone,
    /// S4.F5: there is no pivot; every step may be undone until the saga is finished.
    NoPivot,
    /// S4.F7: the check message is acknowledged when it is delivered.
    AcknowledgedOnDelivery,
    /// S4.4 left out: a step has no unique key.
    NoUniqueKey,
    /// S4.4 left out: the saga's row is written without asking whether it is as it was seen.
    NoVersion,
}
