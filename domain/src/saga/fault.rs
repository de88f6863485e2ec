/// A state of a saga's rows that must never occur. It is reported, and nothing is written until a person has looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SagaFault {
    /// A step was undone although the saga is past its pivot.
    #[error("step {0} is rolled back although the saga is past its pivot")]
    RolledBackPastPivot(usize),
    /// A step that cannot be undone was taken although the saga has been called off.
    #[error("step {0}, which cannot be undone, was taken although the saga is called off")]
    TakenAfterCallOff(usize),
}
