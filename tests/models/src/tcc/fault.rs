/// A fault that can be put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// S3.F1, scheme 1: a cancel that finds nothing answers with success and writes nothing.
    EmptyCancelLeavesNoMarker,
    /// S3.F1, second half: the Try that a marker was left for takes the marker away with it.
    MarkerIsTakenAway,
    /// S3.F2: who has read that there is nothing inserts, and no unique key objects.
    ReadThenInsert,
    /// S3.F4: a cancel releases what it finds, in whatever state that is.
    CancelReleasesUnchecked,
    /// A marker is purged while a Try may still come.
    PurgedTooEarly,
    /// The coordinator writes its decision without asking whether another one was taken.
    DecisionIsOverwritten,
}
