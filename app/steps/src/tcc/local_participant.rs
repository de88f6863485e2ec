use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::{
    Invalid, Jitter, RetryPolicy,
    step::StepRetention,
    tcc::{BranchCall, BranchRefusal, Operation},
};
use claimstream_ports::{
    Timer, Transactions,
    step::{PurgeSteps, StepLedger},
    tcc::{Participant, ParticipantError},
};

use super::{CoordinatorConfig, Resource, ResourceError, Tcc, TccError, branches::BranchWrite};
use crate::effect::effect;
use claimstream::work;

/// A participant in this process: each call is a transaction of its own, in the database of its [`Resource`].
///
/// A transaction that meets a deadlock is restarted. What the table of branches refuses is a refusal, and so is what the
/// resource refuses; any other trouble may pass, and the coordinator asks again. A Confirm whose Try is not there is refused after two
/// seconds: on a cluster the Try may have been made at another node a moment ago.
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
    /// A participant whose branches and whose resource are in `store`, for transactions of a coordinator that drives them so.
    ///
    /// Refused if the store forgets a branch while a call of its transaction may still come.
    pub fn new(
        store: Arc<S>,
        timer: Arc<dyn Timer>,
        resource: R,
        config: &CoordinatorConfig,
    ) -> Result<Self, Invalid>
    where
        S: PurgeSteps,
    {
        StepRetention::check_for_calls(store.step_retention(), config.deadline, config.retry.cap)?;
        let tcc = Tcc::new(store.clone());
        Ok(Self { store, tcc, timer, resource })
    }

    /// A branch that is to be confirmed and was not tried is looked at again: the node that is asked may not yet have carried out what
    /// another one has committed.
    async fn carried_out(&self, call: &BranchCall) -> Result<(), TccError<ResourceError>> {
        let asked = &BranchWrite::by(call)?;
        let mut looks = 0;
        loop {
            looks += 1;
            let attempt =
                effect(&*self.store, &*self.timer, &asked.written, |tx| work(self.branch(tx, asked, call)));
            let done = attempt.await;
            match done {
                Err(TccError::Refused(BranchRefusal::NotTried)) if !LOOKS.is_last(looks) => {
                    self.timer.sleep(LOOKS.delay(looks, 0)).await;
                }
                done => return done,
            }
        }
    }

    async fn branch(
        &self,
        tx: &S::Tx,
        asked: &BranchWrite,
        call: &BranchCall,
    ) -> Result<(), TccError<ResourceError>> {
        let (gid, branch) = (&call.key.gid, &call.key.branch);
        let carried_out = match call.key.operation {
            Operation::Try => {
                return self.tcc.try_asked(tx, asked, |tx| self.resource.reserve(tx, call)).await;
            }
            Operation::Confirm => {
                self.tcc.end(tx, asked, call.key.operation, |tx| self.resource.confirm(tx, call)).await?
            }
            Operation::Cancel => {
                self.tcc.end(tx, asked, call.key.operation, |tx| self.resource.release(tx, call)).await?
            }
        };
        tracing::debug!(%gid, %branch, operation = %call.key.operation, ?carried_out, "tcc.branch");
        Ok(())
    }
}

/// For two seconds.
const LOOKS: RetryPolicy = RetryPolicy {
    base: Duration::from_millis(20),
    cap: Duration::from_millis(500),
    max_attempts: 9,
    jitter: Jitter::None,
};

#[async_trait]
impl<S, R> Participant for LocalParticipant<S, R>
where
    S: Transactions + StepLedger<S::Tx> + 'static,
    R: Resource<S::Tx>,
{
    async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError> {
        self.carried_out(call).await.map_err(|error: TccError<ResourceError>| match error {
            TccError::Refused(refusal) => ParticipantError::refused(refusal),
            TccError::Effect(ResourceError::Refused { reason }) | TccError::Broken(reason) => {
                ParticipantError::Refused { reason }
            }
            passing => ParticipantError::failed(passing),
        })
    }
}

impl<S: Transactions, R> fmt::Debug for LocalParticipant<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalParticipant")
    }
}
