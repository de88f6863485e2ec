use std::{fmt, sync::Arc, time::Duration};

use claimstream_domain::{
    Invalid,
    timer_event::{DecisionName, FailurePolicy, Schedule, SchemeName},
};
use futures::future::BoxFuture;
use uuid::Uuid;

use super::{
    Alarm, DecisionError, EventInfo, TimedOut,
    decision::{Decision, DecisionEffect},
};

/// Events of one kind: when they occur, what they do, how long they may take, and where an alarm goes if they take longer.
///
/// Names are stored, so they must not change; everything else may, from one version of a program to the next.
pub struct EventScheme<Tx> {
    pub(super) name: SchemeName,
    pub(super) schedule: Schedule,
    pub(super) alarm: Alarm<Tx>,
    pub(super) deadline: Duration,
    pub(super) retry_every: Duration,
    pub(super) policy: FailurePolicy,
    pub(super) row_lock: RowLock,
    pub(super) decisions: Vec<Decision<Tx>>,
    pub(super) hook: Option<Arc<Hook<Tx>>>,
}

/// What keeps two runs of one event apart while its decisions are under way, besides the lease of the timer's message.
///
/// Whatever is chosen, a decision's record lets it succeed once, and the event ends once. A lock saves work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum RowLock {
    /// Nothing else. No connection is held while a remote decision is under way.
    #[default]
    None,
    /// Each decision's transaction first locks the event's row, and waits for its holder. It is held through remote
    /// decisions, and a connection with it.
    Wait,
    /// The same, but a process that finds the row locked gives up at once and comes back with the next tick.
    NoWait,
}

pub(super) type Hook<Tx> =
    dyn for<'a> Fn(&'a Tx, &'a TimedOut) -> BoxFuture<'a, Result<(), DecisionError>> + Send + Sync;

impl<Tx> EventScheme<Tx> {
    /// A scheme without decisions: five minutes for an event, ten seconds between attempts, the first failure stops, no
    /// row lock, no hook.
    pub fn new(name: SchemeName, schedule: Schedule, alarm: Alarm<Tx>) -> Self {
        Self {
            name,
            schedule,
            alarm,
            deadline: Duration::from_secs(300),
            retry_every: Duration::from_secs(10),
            policy: FailurePolicy::Stop,
            row_lock: RowLock::None,
            decisions: Vec::new(),
            hook: None,
        }
    }

    /// How long an event may take from its first tick on, by the store's clock; at least a second.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How long to wait after a failed attempt; at least a millisecond.
    pub fn retry_every(mut self, wait: Duration) -> Self {
        self.retry_every = wait;
        self
    }

    /// What a failed decision means for those after it.
    pub fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// What keeps two runs of one event apart.
    pub fn row_lock(mut self, row_lock: RowLock) -> Self {
        self.row_lock = row_lock;
        self
    }

    /// Adds a decision that writes in the transaction it is given and does nothing else: its effect is exactly once.
    ///
    /// It may be called several times, each time in a new transaction whose predecessor was rolled back.
    pub fn decision<F>(mut self, name: DecisionName, effect: F) -> Self
    where
        F: for<'a> Fn(&'a Tx, &'a EventInfo) -> BoxFuture<'a, Result<(), DecisionError>>
            + Send
            + Sync
            + 'static,
    {
        self.decisions.push(Decision { name, effect: DecisionEffect::Local(Arc::new(effect)) });
        self
    }

    /// Adds a decision whose effect is elsewhere. It gets a key that is the same in every attempt, for a callee that knows
    /// repeats by it: after a crash between the call and its record the call is made again.
    pub fn remote_decision<F>(mut self, name: DecisionName, call: F) -> Self
    where
        F: for<'a> Fn(&'a EventInfo, Uuid) -> BoxFuture<'a, Result<(), DecisionError>>
            + Send
            + Sync
            + 'static,
    {
        self.decisions.push(Decision { name, effect: DecisionEffect::Remote(Arc::new(call)) });
        self
    }

    /// The hook after a timeout. Like a decision it writes in a transaction and is recorded there; while it
    /// fails it is tried again, and the timer does not wait for it.
    pub fn on_timeout<F>(mut self, hook: F) -> Self
    where
        F: for<'a> Fn(&'a Tx, &'a TimedOut) -> BoxFuture<'a, Result<(), DecisionError>>
            + Send
            + Sync
            + 'static,
    {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// Refuses two decisions of one name, and times that are too short to mean anything.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let names = || self.decisions.iter().map(|decision| &decision.name);
        if let Some(twice) =
            names().enumerate().find(|(at, name)| names().take(*at).any(|other| other == *name))
        {
            return Err(Invalid::Contradiction(format!(
                "scheme {} has two decisions called {}; give each a name of its own",
                self.name, twice.1
            )));
        }
        at_least("deadline", self.deadline, Duration::from_secs(1))?;
        at_least("retry_every", self.retry_every, Duration::from_millis(1))
    }
}

impl<Tx> fmt::Debug for EventScheme<Tx> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventScheme")
            .field("name", &self.name)
            .field("schedule", &self.schedule)
            .field("deadline", &self.deadline)
            .field("decisions", &self.decisions.iter().map(|decision| &decision.name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn at_least(what: &'static str, given: Duration, least: Duration) -> Result<(), Invalid> {
    match given < least {
        true => Err(Invalid::OutOfRange {
            what,
            given: format!("{given:?}"),
            allowed: format!("at least {least:?}"),
        }),
        false => Ok(()),
    }
}
