use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use claimstream_domain::{
    Claimed, Due, Invalid, Jitter, QueueName, RetryPolicy, Timestamp, Verdict,
    timer_event::{EventEnd, EventStatus, SchemeName, Tick},
};
use claimstream_ports::{Handler, StoreError, Timer};

use super::{
    EventScheme, EventStore, Ticked,
    event_row::EventRow,
    halt::{Halt, corrupt},
    next_ticks::enqueue_ticks,
    visit::TickRun,
};
use claimstream::{in_transaction, work};

/// Runs the events of its schemes: a [`Handler`] for the queue that their timers' messages are in.
///
/// [`start`](Self::start) puts the first message of each scheme there; handling one runs its event and enqueues the next.
pub struct TimerEvents<S: EventStore> {
    store: Arc<S>,
    timer: Arc<dyn Timer>,
    queue: QueueName,
    schemes: BTreeMap<SchemeName, EventScheme<S::Tx>>,
    removed: BTreeSet<SchemeName>,
}

impl<S: EventStore> TimerEvents<S> {
    /// Timer events in `store`, with their messages in `queue`, which should have no others. `timer` waits between
    /// restarts of a transaction.
    pub fn new(store: Arc<S>, timer: impl Timer + 'static, queue: QueueName) -> Self {
        Self { store, timer: Arc::new(timer), queue, schemes: BTreeMap::new(), removed: BTreeSet::new() }
    }

    /// Adds a scheme; refuses a second one of the same name, two decisions of one name, and times that are too short.
    pub fn with(mut self, scheme: EventScheme<S::Tx>) -> Result<Self, Invalid> {
        scheme.check()?;
        match self.schemes.insert(scheme.name.clone(), scheme) {
            Some(twice) => Err(Invalid::Contradiction(format!(
                "there are two schemes called {}; give each a name of its own",
                twice.name
            ))),
            None => Ok(self),
        }
    }

    /// Removes the timer of a scheme that earlier versions had: its next message ends it, and an event of it that is under way ends as timed
    /// out, without an alarm and without a hook.
    ///
    /// Without this, the message of a scheme that is gone becomes a dead letter.
    pub fn without(mut self, scheme: SchemeName) -> Self {
        self.removed.insert(scheme);
        self
    }

    /// Sees that each scheme's next occurrence has its message; to be called by every instance when it starts.
    ///
    /// It may be called at any time and any number of times: an occurrence has one message in a queue, however often it is enqueued. So it also
    /// sets a timer going again whose message was lost with the dead letters, a new schedule of a new version, and a timer whose queue
    /// was changed. What lies in the queue before stays there; stop the instances that read it first, because the timer goes on in the queue of
    /// the instance that ends the event.
    pub async fn start(&self) -> Result<(), StoreError> {
        let epoch = Timestamp::from_micros(0).map_err(corrupt)?;
        let now = self.store.late(Due::At(epoch)).await?;
        let now =
            Timestamp::from_micros(i64::try_from(now.as_micros()).map_err(corrupt)?).map_err(corrupt)?;
        let ticks = self.schemes.values().filter_map(|scheme| {
            let occurrence = scheme.schedule.next_after(now)?;
            Some(Tick { scheme: scheme.name.clone(), occurrence })
        });
        let ticks: Vec<Tick> = ticks.collect();
        let (store, queue, ticks) = (&*self.store, &self.queue, &ticks);
        in_transaction(store, &*self.timer, |tx| work(enqueue_ticks(store, tx, queue, ticks))).await
    }

    /// The retry policy to give to the pipeline: enough attempts for every event to be tried until its deadline.
    ///
    /// An event whose attempts are used up before, as by a decision that ends the process, is timed out all the same: its
    /// deadline has a message of its own.
    pub fn pipeline_retry(&self) -> RetryPolicy {
        let waits = || self.schemes.values().map(|scheme| scheme.retry_every);
        let attempts = self.schemes.values().map(|scheme| {
            let attempts = scheme.deadline.as_nanos().div_ceil(scheme.retry_every.as_nanos().max(1));
            u32::try_from(attempts).unwrap_or(u32::MAX)
        });
        let base = waits().min().unwrap_or(SPARE_WAIT);
        RetryPolicy {
            base,
            cap: waits().max().unwrap_or(SPARE_WAIT).max(base),
            max_attempts: attempts.max().unwrap_or(0).saturating_add(SPARE_ATTEMPTS),
            jitter: Jitter::None,
        }
    }

    /// Makes one tick's visit to its event, and says what it came to; `None` if its scheme is not known here.
    ///
    /// It is what the handler does. It may be called by hand, at any time, as often as one likes.
    pub async fn visit(&self, tick: &Tick) -> Result<Option<Ticked>, StoreError> {
        let Some(scheme) = self.schemes.get(&tick.scheme) else { return Ok(None) };
        let (store, timer, queue) = (&*self.store, &*self.timer, &self.queue);
        match (TickRun { store, timer, queue, scheme, tick }).make().await {
            Ok(ticked) => Ok(Some(ticked)),
            Err(Halt::Busy) => Ok(Some(Ticked::Busy)),
            Err(Halt::Overtaken) => Ok(Some(Ticked::Overtaken)),
            Err(Halt::Store(error)) => Err(error),
            Err(Halt::Failed(why)) => Err(corrupt(why.as_str())),
        }
    }

    /// Ends the event of a scheme that was removed; its timer is not moved on.
    async fn remove(&self, tick: &Tick) -> Result<(), Halt> {
        let store = &*self.store;
        in_transaction(store, &*self.timer, |tx| {
            work(async move {
                let found = EventRow::find(store, tx, tick).await?;
                match found.filter(|row| row.status == EventStatus::Init) {
                    Some(row) => row.end(store, tx, EventEnd::TimeOut).await,
                    None => Ok(()),
                }
            })
        })
        .await
    }

    fn retry_every(&self, tick: &Tick) -> Duration {
        self.schemes.get(&tick.scheme).map_or(SPARE_WAIT, |scheme| scheme.retry_every)
    }
}

/// What an attempt may need beyond those until the deadline: failed transactions, busy rows, an unknown scheme while
/// versions change.
const SPARE_ATTEMPTS: u32 = 20;

const SPARE_WAIT: Duration = Duration::from_secs(10);

#[async_trait]
impl<S: EventStore + 'static> Handler for TimerEvents<S> {
    async fn handle(&self, claimed: &Claimed) -> Verdict {
        let tick: Tick = match serde_json::from_slice(claimed.message.payload.bytes()) {
            Ok(tick) => tick,
            Err(error) => return Verdict::bury(format_args!("the payload is not a tick: {error}")),
        };
        if self.removed.contains(&tick.scheme) && !self.schemes.contains_key(&tick.scheme) {
            tracing::info!(scheme = %tick.scheme, occurrence = %tick.occurrence, "timer_event.removed");
            return match self.remove(&tick).await {
                Ok(()) => Verdict::ack(),
                Err(halt) => Verdict::nack(format_args!("not removed yet: {halt:?}")),
            };
        }
        match self.visit(&tick).await {
            Ok(Some(ticked)) => ticked.verdict(self.retry_every(&tick)),
            Ok(None) => Verdict::nack(format_args!(
                "scheme {} is not known to this instance; if it was removed, say so by TimerEvents::without",
                tick.scheme
            )),
            // Decisions that fail are no errors of the visit; so no timer ends because the store is away for long.
            Err(error) if error.is_about_the_store() => {
                tracing::warn!(scheme = %tick.scheme, occurrence = %tick.occurrence, %error, "timer_event.given_back");
                Verdict::Release
            }
            Err(error) => {
                tracing::warn!(scheme = %tick.scheme, occurrence = %tick.occurrence, %error, "timer_event.put_off");
                Verdict::nack(error)
            }
        }
    }
}

impl<S: EventStore> fmt::Debug for TimerEvents<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerEvents")
            .field("queue", &self.queue)
            .field("schemes", &self.schemes.values().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
