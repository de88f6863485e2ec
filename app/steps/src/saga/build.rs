use std::{marker::PhantomData, sync::Arc};

use claimstream_domain::{Invalid, Lease, QueueName, Reason, saga::SagaPlan, step::StepKey};
use claimstream_ports::{DistributedLock, Timer, Transactions, step::StepLedger};
use futures::future::BoxFuture;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    IdempotencyKey, Saga, SagaConfig, SagaHome, SagaRun, StepFailure,
    local::{LocalEffect, LocalStep},
    parts::{CalledOff, SagaParts},
    remote::RemoteStep,
    step::Step,
};

/// The list of a saga's steps up to its pivot: each says how it is taken and how it is undone.
///
/// Begun by [`Saga::list`].
#[must_use = "a list does nothing until it is built"]
pub struct SagaList<I, H: SagaHome> {
    name: Box<str>,
    home: H,
    timer: Arc<dyn Timer>,
    steps: Vec<Box<dyn Step<I>>>,
    called_off: Option<CalledOff<I, H::Tx>>,
    lock: Option<(Arc<dyn DistributedLock>, Lease)>,
}

/// A place where the next step of a list is taken.
#[must_use = "a place takes no step by itself"]
pub struct SagaListAt<I, H: SagaHome, D, P> {
    list: SagaList<I, H>,
    place: P,
    databases: PhantomData<fn() -> D>,
}

/// The list of a saga's steps behind its pivot: each is taken, sooner or later, and none is ever undone.
#[must_use = "a list does nothing until it is built"]
pub struct SagaTail<I, H: SagaHome> {
    list: SagaList<I, H>,
    pivot: usize,
}

/// A place where the next step behind the pivot is taken.
#[must_use = "a place takes no step by itself"]
pub struct SagaTailAt<I, H: SagaHome, D, P> {
    tail: SagaTail<I, H>,
    place: P,
    databases: PhantomData<fn() -> D>,
}

impl<I, H> Saga<I, H>
where
    I: Serialize + DeserializeOwned + Send + Sync + 'static,
    H: SagaHome + 'static,
{
    /// Begins the list of a saga's steps; `home` is where the saga's own row and its messages are kept.
    ///
    /// The name stands in the keys of rows and in the queue's name, so it never changes.
    pub fn list(name: &str, home: H, timer: Arc<dyn Timer>) -> SagaList<I, H> {
        SagaList::new(name, home, timer)
    }
}

impl<I, H> SagaList<I, H>
where
    I: Send + Sync + 'static,
    H: SagaHome + 'static,
{
    pub(super) fn new(name: &str, home: H, timer: Arc<dyn Timer>) -> Self {
        Self { name: name.into(), home, timer, steps: Vec::new(), called_off: None, lock: None }
    }

    /// The database of the next step, which may depend on what the saga is about.
    pub fn at<D, P>(self, place: P) -> SagaListAt<I, H, D, P>
    where
        P: Fn(&I) -> D + Send + Sync + 'static,
    {
        SagaListAt { list: self, place, databases: PhantomData }
    }

    /// A step that is a call to another service, and the call that takes it back.
    ///
    /// Both show the same key each time. The other side owes: a call that it has taken is not taken again; a cancellation
    /// of a call that it has not seen, or has refused, succeeds; and a call that comes after its cancellation is refused.
    pub fn remote(
        mut self,
        name: &str,
        call: impl for<'a> Fn(&'a IdempotencyKey, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync
        + 'static,
        cancel: impl for<'a> Fn(&'a IdempotencyKey, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        H: Clone,
    {
        let (call, cancel) = (Box::new(call), Some(Box::new(cancel) as _));
        self.steps.push(Box::new(RemoteStep { name: name.into(), home: self.home.clone(), call, cancel }));
        self
    }

    /// What else is written when the saga is called off, in the same transaction as its change of state: a message that
    /// notifies a person, for example. It happens once.
    pub fn on_call_off(
        mut self,
        called_off: impl for<'a> Fn(
            &'a H::Tx,
            &'a SagaRun<I>,
            &'a Reason,
        ) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.called_off = Some(Box::new(called_off));
        self
    }

    /// A lock for each saga while it is run, so that two runners do not do the same work. It decides nothing.
    pub fn locked_by(mut self, lock: Arc<dyn DistributedLock>, lease: Lease) -> Self {
        self.lock = Some((lock, lease));
        self
    }

    /// The point of no return: behind it no step is undone, and before it none that cannot be.
    pub fn pivot(self) -> SagaTail<I, H> {
        SagaTail { pivot: self.steps.len(), list: self }
    }

    /// A saga whose pivot comes after its last step; refuses what [`SagaTail::build`] refuses.
    pub fn build(self, config: SagaConfig) -> Result<Saga<I, H>, Invalid> {
        self.pivot().build(config)
    }
}

impl<I, H, D, P> SagaListAt<I, H, D, P>
where
    I: Send + Sync + 'static,
    H: SagaHome + 'static,
    D: Transactions + StepLedger<D::Tx> + 'static,
    P: Fn(&I) -> D + Send + Sync + 'static,
{
    /// A step that is taken by `forward` and undone by `undo`, each in one transaction of this place's, together with the
    /// step's row. A restarted transaction calls them again.
    pub fn step(
        self,
        name: &str,
        forward: impl for<'a> Fn(&'a D::Tx, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync
        + 'static,
        undo: impl for<'a> Fn(&'a D::Tx, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync
        + 'static,
    ) -> SagaList<I, H> {
        let Self { mut list, place, .. } = self;
        list.steps.push(local::<I, D, P>(name, place, Box::new(forward), Some(Box::new(undo))));
        list
    }
}

impl<I, H> SagaTail<I, H>
where
    I: Send + Sync + 'static,
    H: SagaHome + 'static,
{
    /// The database of the next step, which may depend on what the saga is about.
    pub fn at<D, P>(self, place: P) -> SagaTailAt<I, H, D, P>
    where
        P: Fn(&I) -> D + Send + Sync + 'static,
    {
        SagaTailAt { tail: self, place, databases: PhantomData }
    }

    /// A step that is a call to another service, which shows the same key each time.
    pub fn remote(
        mut self,
        name: &str,
        call: impl for<'a> Fn(&'a IdempotencyKey, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        H: Clone,
    {
        let (home, call) = (self.list.home.clone(), Box::new(call));
        self.list.steps.push(Box::new(RemoteStep { name: name.into(), home, call, cancel: None }));
        self
    }

    /// The saga; refuses a list without steps, two steps of one name, and names that cannot stand in the ledger.
    pub fn build(self, config: SagaConfig) -> Result<Saga<I, H>, Invalid> {
        config.check()?;
        let Self { list, pivot } = self;
        let plan = SagaPlan::new(list.steps.len(), pivot)?;
        let queue = QueueName::new(&format!("saga:{}", list.name))?;
        check_names(queue.as_str(), list.steps.iter().map(|step| step.name()))?;
        let SagaList { home, timer, steps, called_off, lock, .. } = list;
        Ok(Saga::of(SagaParts {
            queue,
            home,
            timer,
            config,
            plan,
            steps,
            called_off,
            lock,
            counters: Default::default(),
        }))
    }
}

impl<I, H, D, P> SagaTailAt<I, H, D, P>
where
    I: Send + Sync + 'static,
    H: SagaHome + 'static,
    D: Transactions + StepLedger<D::Tx> + 'static,
    P: Fn(&I) -> D + Send + Sync + 'static,
{
    /// A step that is taken by `forward`, in one transaction of this place's, together with the step's row. It has no
    /// reason to refuse any longer; if it does, that is an alarm.
    pub fn step(
        self,
        name: &str,
        forward: impl for<'a> Fn(&'a D::Tx, &'a SagaRun<I>) -> BoxFuture<'a, Result<(), StepFailure>>
        + Send
        + Sync
        + 'static,
    ) -> SagaTail<I, H> {
        let Self { mut tail, place, .. } = self;
        tail.list.steps.push(local::<I, D, P>(name, place, Box::new(forward), None));
        tail
    }
}

fn local<I, D, P>(
    name: &str,
    place: P,
    forward: LocalEffect<I, D::Tx>,
    undo: Option<LocalEffect<I, D::Tx>>,
) -> Box<dyn Step<I>>
where
    I: Send + Sync + 'static,
    D: Transactions + StepLedger<D::Tx> + 'static,
    P: Fn(&I) -> D + Send + Sync + 'static,
{
    Box::new(LocalStep::<I, D, P> { name: name.into(), place, forward, undo, databases: PhantomData })
}

fn check_names<'a>(scope: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Invalid> {
    let mut seen = Vec::new();
    for name in names {
        if name.is_empty() {
            return Err(Invalid::Empty { what: "step name" });
        }
        StepKey::new(scope, "run", name)?;
        if seen.contains(&name) {
            return Err(Invalid::Contradiction(format!(
                "two steps are called {name:?}; give each its own name"
            )));
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_names_of_their_own() {
        let check = |names: &[&'static str]| check_names("saga:transfer", names.iter().copied());
        assert!(check(&["debit", "credit"]).is_ok());
        assert!(check(&["debit", "debit"]).is_err() && check(&[""]).is_err());
    }
}
