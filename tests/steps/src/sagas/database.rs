use claimstream_ports::{
    DeadLetters, LockingStrategy, Settlements, Transactions,
    notification::{MessageRepository, NotificationReports, RequestRepository, SubmitRequests},
};

/// All that the scenarios of sagas ask of a store.
pub(super) trait Database:
    claimstream_steps::saga::SagaHome
    + SubmitRequests<<Self as Transactions>::Tx>
    + LockingStrategy
    + Settlements
    + DeadLetters
    + NotificationReports
    + RequestRepository
    + MessageRepository
    + Clone
    + 'static
{
}

impl<D> Database for D where
    D: claimstream_steps::saga::SagaHome
        + SubmitRequests<<D as Transactions>::Tx>
        + LockingStrategy
        + Settlements
        + DeadLetters
        + NotificationReports
        + RequestRepository
        + MessageRepository
        + Clone
        + 'static
{
}
