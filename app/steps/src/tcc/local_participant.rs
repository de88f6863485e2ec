use std::{fmt, sync::Arc};

use async_trait::async_trait;
use claimstream_domain::tcc::{BranchCall, Operation};
use claimstream_ports::{
    Timer, Transactions,
    step::StepLedger,
    tcc::{Participant, ParticipantError},
};

use super::{Resource, ResourceError, Tcc, TccError};
use claimstream::{in_transaction, work};

/// A participant in this process: each call is a transaction of its own, in the database of its [`Resource`].
///
/// A transaction that meets a deadlock is restarted. What the table of branches refuses is a refusal, and so is what the
/// resource refuses; any other trouble may pass, and the coordinator asks again.
pub struct LocalParticipant<S: Transactions, R> {
    store: Arc<S>,
    tcc: Tcc<S::Tx>,
    timer: Arc<dyn Timer>,
    resource: R,
}

impl<S, R> LocalParticipant<S, R>
where
    S: Transactions + StepLedger<S::Tx> + 'static,
    R: Resource<S::Tx>,
{
    /// A participant whose branches and whose resource are in `store`.
    pub fn new(store: Arc<S>, timer: Arc<dyn Timer>, resource: R) -> Self {
        let tcc = Tcc::new(store.clone());
        Self { store, tcc, timer, resource }
    }

    async fn branch(&self, tx: &S::Tx, call: &BranchCall) -> Result<(), TccError<ResourceError>> {
        let (gid, branch) = (&call.key.gid, &call.key.branch);
        let carried_out = match call.key.operation {
            Operation::Try => {
                return self.tcc.try_(tx, gid, branch, |tx| self.resource.reserve(tx, call)).await;
            }
            Operation::Confirm => {
                self.tcc.confirm(tx, gid, branch, |tx| self.resource.confirm(tx, call)).await?
            }
            Operation::Cancel => {
                self.tcc.cancel(tx, gid, branch, |tx| self.resource.release(tx, call)).await?
            }
        };
        tracing::debug!(%gid, %branch, operation = %call.key.operation, ?carried_out, "tcc.branch");
        Ok(())
    }
}

#[async_trait]
impl<S, R> Participant for LocalParticipant<S, R>
where
    S: Transactions + StepLedger<S::Tx> + 'static,
    R: Resource<S::Tx>,
{
    async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError> {
        let done = in_transaction(&*self.store, &*self.timer, |tx| work(self.branch(tx, call))).await;
        done.map_err(|error: TccError<ResourceError>| match error {
            TccError::Refused(refusal) => ParticipantError::refused(refusal),
            TccError::Effect(ResourceError::Refused { reason }) => ParticipantError::Refused { reason },
            passing => ParticipantError::failed(passing),
        })
    }
}

impl<S: Transactions, R> fmt::Debug for LocalParticipant<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalParticipant")
    }
}
