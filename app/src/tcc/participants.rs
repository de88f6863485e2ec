use std::{collections::HashMap, fmt, sync::Arc};

use claimstream_domain::tcc::{BranchCall, GlobalTransaction, Operation};
use claimstream_ports::{Participant, ParticipantError};

/// The participants that a coordinator knows, by name.
#[derive(Clone, Default)]
pub(super) struct Participants(HashMap<Box<str>, Arc<dyn Participant>>);

impl Participants {
    pub(super) fn add(&mut self, name: &str, participant: Arc<dyn Participant>) {
        self.0.insert(name.into(), participant);
    }

    /// The first name of a transaction that is not known.
    pub(super) fn unknown<'a>(&self, global: &'a GlobalTransaction) -> Option<&'a str> {
        let mut names = global.branches.iter().map(|branch| branch.participant.as_str());
        names.find(|name| !self.0.contains_key(*name))
    }

    /// Tries one branch after the other, up to the first that does not succeed.
    pub(super) async fn try_all(&self, global: &GlobalTransaction) -> Result<(), ParticipantError> {
        for branch in &global.branches {
            self.carry_out(&branch.participant, &BranchCall::new(&global.gid, branch, Operation::Try))
                .await?;
        }
        Ok(())
    }

    /// Confirms or cancels every branch; one that does not succeed keeps none of the others waiting, and the first such
    /// failure is answered.
    pub(super) async fn end_all(
        &self,
        global: &GlobalTransaction,
        operation: Operation,
    ) -> Result<(), ParticipantError> {
        let mut first = Ok(());
        for branch in &global.branches {
            let call = BranchCall::new(&global.gid, branch, operation);
            let done = self.carry_out(&branch.participant, &call).await;
            if let Err(error) = &done {
                note(&call, error);
            }
            first = first.and(done);
        }
        first
    }

    async fn carry_out(&self, name: &str, call: &BranchCall) -> Result<(), ParticipantError> {
        match self.0.get(name) {
            Some(participant) => participant.carry_out(call).await,
            None => Err(ParticipantError::failed(format_args!(
                "no participant is called {name:?} in this process"
            ))),
        }
    }
}

/// After the decision a refusal is somebody's fault, and only a person can mend it.
fn note(call: &BranchCall, error: &ParticipantError) {
    match error {
        ParticipantError::Refused { reason } => {
            tracing::error!(key = %call.key, %reason, "tcc.branch.refused_after_the_decision");
        }
        ParticipantError::Failed { reason, .. } => {
            tracing::warn!(key = %call.key, %reason, "tcc.branch.put_off");
        }
    }
}

impl fmt::Debug for Participants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
