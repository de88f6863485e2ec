use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use claimstream_steps::tcc::{BranchCall, Operation, Participant, ParticipantError};
use tokio::sync::Notify;

/// When a process dies: before or after a call has taken effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    Before,
    After,
}

pub(super) type Meanwhile = Box<dyn Fn() -> futures::future::BoxFuture<'static, ()> + Send + Sync>;

/// What goes wrong in a process, and what it has called.
#[derive(Clone, Default)]
pub(super) struct Script {
    /// At which of its calls it dies.
    pub(super) dies_at: Option<(u32, Moment)>,
    /// Which call fails how often.
    pub(super) fails: Option<(&'static str, Operation, u32)>,
    /// Which call is refused how often.
    pub(super) refuses: Option<(&'static str, Operation, u32)>,
    /// What happens before or after the second Try.
    pub(super) meanwhile: Arc<Mutex<Option<(Moment, Meanwhile)>>>,
    /// Notified when the process has died.
    pub(super) died: Arc<Notify>,
    pub(super) count: Arc<AtomicU32>,
    pub(super) called: Arc<Mutex<Vec<(&'static str, Operation)>>>,
}

impl Script {
    /// At this moment of the second Try, something else happens.
    pub(super) fn let_happen(&self, moment: Moment, meanwhile: Meanwhile) {
        *self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner) = Some((moment, meanwhile));
    }

    /// Lets happen what is to happen at this moment of a call.
    async fn comes_to(&self, number: u32, moment: Moment) {
        let meanwhile = {
            let mut meanwhile = self.meanwhile.lock().unwrap_or_else(PoisonError::into_inner);
            meanwhile.take_if(|(at, _)| number == 2 && *at == moment)
        };
        if let Some((_, happens)) = meanwhile {
            happens().await;
        }
    }

    /// Goes no further if this is where the process dies.
    async fn dies(&self, number: u32, moment: Moment) {
        if self.dies_at == Some((number, moment)) {
            self.died.notify_one();
            futures::future::pending::<()>().await;
        }
    }

    /// Waits until the process has died.
    pub(super) async fn has_died(&self) {
        self.died.notified().await;
    }

    pub(super) fn calls(&self, name: &str, operation: Operation) -> usize {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.iter().filter(|call| **call == (name, operation)).count()
    }

    /// The same script for a process that goes on where `calls` calls have been made.
    pub(super) fn after(self, calls: u32) -> Self {
        Self { count: Arc::new(AtomicU32::new(calls)), ..self }
    }

    /// The two Tries are made in the run, the rest over the outbox.
    pub(super) fn dies_in_run(&self) -> bool {
        self.dies_at.is_some_and(|(call, _)| call <= 2)
    }
}

/// A participant to which things happen.
pub(super) struct Scripted<P> {
    pub(super) name: &'static str,
    pub(super) participant: P,
    pub(super) script: Script,
}

#[async_trait]
impl<P: Participant> Participant for Scripted<P> {
    async fn carry_out(&self, call: &BranchCall) -> Result<(), ParticipantError> {
        let (script, operation) = (&self.script, call.key.operation);
        let number = script.count.fetch_add(1, Ordering::SeqCst) + 1;
        script.called.lock().unwrap_or_else(PoisonError::into_inner).push((self.name, operation));
        script.comes_to(number, Moment::Before).await;
        script.dies(number, Moment::Before).await;
        let still = |call: Option<(&'static str, Operation, u32)>| {
            call.is_some_and(|(name, at, times)| {
                (name, at) == (self.name, operation) && script.calls(name, at) <= times as usize
            })
        };
        if still(script.fails) {
            return Err(ParticipantError::failed("it cannot be reached"));
        }
        if still(script.refuses) {
            return Err(ParticipantError::refused("it has changed its mind"));
        }
        let done = self.participant.carry_out(call).await;
        script.comes_to(number, Moment::After).await;
        script.dies(number, Moment::After).await;
        done
    }
}
