use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::Arc,
    time::Duration,
};

use claimstream_domain::{
    Invalid, RetryPolicy,
    tcc::{BranchCall, CarriedOut, GlobalTransaction, Operation},
};
use claimstream_ports::{
    Timer,
    tcc::{Participant, ParticipantError},
};

use super::{TccAlarm, TccAlarmKind};

/// The participants that a coordinator knows, by name.
#[derive(Clone, Default)]
pub(super) struct Participants(HashMap<Box<str>, Arc<dyn Participant>>);

/// How confirming or cancelling every branch ended.
pub(super) struct EndedAll {
    /// The first failure, if there is one.
    pub(super) first: Result<(), ParticipantError>,
    /// What a person has to know of the decided calls that were not carried out.
    pub(super) alarms: Vec<TccAlarm>,
    /// Those that have carried the decision out, now or before.
    pub(super) done: CarriedOut,
}

impl Participants {
    /// Takes one in, unless its name is taken.
    pub(super) fn add(&mut self, name: &str, participant: Arc<dyn Participant>) -> Result<(), Invalid> {
        match self.0.entry(name.into()) {
            Entry::Vacant(free) => {
                free.insert(participant);
                Ok(())
            }
            Entry::Occupied(_) => Err(Invalid::Contradiction(format!(
                "the coordinator has a participant {name:?} already; give each a name of its own"
            ))),
        }
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

    /// Tries every branch, and after the waits of the policy again while one fails, as long as the next try begins within `limit`.
    pub(super) async fn try_all_within(
        &self,
        limit: Duration,
        global: &GlobalTransaction,
        retry: &RetryPolicy,
        timer: &dyn Timer,
    ) -> Result<(), ParticipantError> {
        let (began, mut attempts) = (timer.now(), 0);
        loop {
            let tried = self.try_all(global).await;
            let Err(ParticipantError::Failed { reason, retry_after }) = &tried else { return tried };
            attempts += 1;
            let now = timer.now();
            let wait = retry_after.unwrap_or_else(|| retry.delay(attempts, u64::from(now.subsec_nanos())));
            if retry.is_last(attempts) || now.saturating_sub(began).saturating_add(wait) > limit {
                return tried;
            }
            tracing::warn!(gid = %global.gid, %reason, "tcc.try.put_off");
            timer.sleep(wait).await;
        }
    }

    /// Confirms or cancels every branch that has not carried it out before; one that does not succeed keeps none of the others waiting.
    ///
    /// A call that fails is an alarm where many before it have failed.
    pub(super) async fn end_all(
        &self,
        global: &GlobalTransaction,
        operation: Operation,
        is_late: bool,
        before: &CarriedOut,
    ) -> EndedAll {
        let mut all = EndedAll { first: Ok(()), alarms: Vec::new(), done: before.clone() };
        for branch in global.branches.iter().filter(|branch| !before.has(&branch.name)) {
            let call = BranchCall::new(&global.gid, branch, operation);
            let done = self.carry_out(&branch.participant, &call).await;
            match &done {
                Ok(()) => all.done.add(&branch.name),
                // After the decision a refusal is a fault, and only a person can mend it.
                Err(ParticipantError::Refused { reason }) => {
                    tracing::error!(key = %call.key, %reason, "tcc.branch.refused_after_the_decision");
                    all.alarms.push(TccAlarm::new(TccAlarmKind::Refused, &branch.participant, &call, reason));
                }
                Err(ParticipantError::Failed { reason, .. }) => {
                    tracing::warn!(key = %call.key, %reason, "tcc.branch.put_off");
                    if is_late {
                        all.alarms.push(TccAlarm::new(
                            TccAlarmKind::Late,
                            &branch.participant,
                            &call,
                            reason,
                        ));
                    }
                }
            }
            all.first = all.first.and(done);
        }
        all
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

impl fmt::Debug for Participants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
