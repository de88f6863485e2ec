use claimstream_ports::{Enqueue, ServerClock, Transactions, step::StepLedger};

/// What timer events need of a store, all in one database: transactions, the step ledger, the outbox and the clock.
///
/// Whatever has these ports is one.
pub trait EventStore:
    Transactions + StepLedger<<Self as Transactions>::Tx> + Enqueue<<Self as Transactions>::Tx> + ServerClock
{
}

impl<S> EventStore for S where
    S: Transactions
        + StepLedger<<S as Transactions>::Tx>
        + Enqueue<<S as Transactions>::Tx>
        + ServerClock
        + ?Sized
{
}
