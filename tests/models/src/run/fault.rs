/// A fault that can be put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The next message of a run is handed out after an attempt that failed, too.
    GoesOnAfterAFailure,
    /// A message that was claimed behind another one is taken in whatever became of that one.
    TakenInBehindAnything,
    /// The store accepts the end of a message before those in flight ahead of it.
    EndsInAnyOrder,
    /// A settlement does not show the fence.
    NotFenced,
}
