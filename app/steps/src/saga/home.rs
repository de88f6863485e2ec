use claimstream_ports::{
    Enqueue, Transactions,
    saga::{NoteSagas, SagaReports},
    step::StepLedger,
};

/// What a saga's own rows are kept in: transactions, the step ledger, the outbox and the notes of sagas of one database.
pub trait SagaHome:
    Transactions
    + StepLedger<<Self as Transactions>::Tx>
    + Enqueue<<Self as Transactions>::Tx>
    + NoteSagas<<Self as Transactions>::Tx>
    + SagaReports
{
}

impl<H> SagaHome for H where
    H: Transactions
        + StepLedger<<H as Transactions>::Tx>
        + Enqueue<<H as Transactions>::Tx>
        + NoteSagas<<H as Transactions>::Tx>
        + SagaReports
{
}
