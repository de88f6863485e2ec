use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use claimstream_domain::Timestamp;
use claimstream_memory::{MemoryClock, MemoryStore};
use claimstream_ports::Timer;
use futures::future::BoxFuture;

use crate::{
    random::Random,
    sabotage::Sabotage,
    timer::HandTimer,
    weather::{Mishap, Weather},
};

/// A handle on one schedule: its time, its random numbers, its processes and what has gone wrong in it.
#[derive(Clone)]
pub(crate) struct Sim(Arc<Inner>);

/// A process of a schedule. Everything that it runs ends when it is killed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Process(pub(crate) u32);

impl Process {
    /// What runs the schedule itself; it is never killed.
    pub(crate) const SCRIPT: Self = Self(0);
    /// The network and the servers: what was sent arrives though its sender has died.
    pub(crate) const WIRE: Self = Self(1);
}

struct Inner {
    timer: HandTimer,
    clock: MemoryClock,
    failed: AtomicBool,
    is_traced: bool,
    sabotage: Option<Sabotage>,
    weather: Weather,
    state: Mutex<State>,
}

/// What changes during a schedule.
pub(crate) struct State {
    random: Random,
    pub(crate) weather: Weather,
    pub(crate) mishaps: [u64; Mishap::COUNT],
    pub(crate) spawned: Vec<(Process, BoxFuture<'static, ()>)>,
    pub(crate) killed: BTreeSet<Process>,
    /// Processes that die after so many more polls.
    pub(crate) dying: BTreeMap<Process, u32>,
    pub(crate) paused: BTreeSet<Process>,
    next_process: u32,
    next_id: u64,
    /// By how much the store's clock is behind what has passed, while it stands.
    clock_stands: bool,
    is_calm: bool,
    failure: Option<String>,
    trace: String,
}

impl Sim {
    pub(crate) fn new(seed: u64, sabotage: Option<Sabotage>, is_traced: bool) -> Self {
        let mut random = Random::new(seed);
        let weather = Weather::draw(&mut random);
        let start =
            claimstream_memory::MemoryOptions::MANUAL_START.parse().expect("the constant is a moment");
        let state = State {
            random,
            weather,
            mishaps: [0; Mishap::COUNT],
            spawned: Vec::new(),
            killed: BTreeSet::new(),
            dying: BTreeMap::new(),
            paused: BTreeSet::new(),
            next_process: 1,
            next_id: 0,
            clock_stands: false,
            is_calm: false,
            failure: None,
            trace: String::new(),
        };
        Self(Arc::new(Inner {
            timer: HandTimer::default(),
            clock: MemoryClock::manual(start),
            failed: AtomicBool::new(false),
            is_traced,
            sabotage,
            weather,
            state: Mutex::new(state),
        }))
    }

    /// An empty store on the schedule's clock.
    pub(crate) fn store(&self) -> MemoryStore {
        MemoryStore::open(claimstream_memory::MemoryOptions::on(self.0.clock.clone()))
    }

    pub(crate) fn timer(&self) -> &HandTimer {
        &self.0.timer
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `sabotage` is the fault that was planted.
    pub(crate) fn has(&self, sabotage: Sabotage) -> bool {
        self.0.sabotage == Some(sabotage)
    }

    pub(crate) fn below(&self, end: u64) -> u64 {
        self.state().random.below(end)
    }

    /// True in so many of a thousand cases.
    pub(crate) fn chance(&self, per_mille: u64) -> bool {
        per_mille > 0 && self.below(1000) < per_mille
    }

    /// A time below `end`, in whole milliseconds.
    pub(crate) fn time_below(&self, end: Duration) -> Duration {
        Duration::from_millis(self.below((end.as_millis() as u64).max(1)))
    }

    /// What the store's clock shows.
    pub(crate) fn store_now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// The weather that the schedule began with.
    pub(crate) fn weather_at_first(&self) -> Weather {
        self.0.weather
    }

    pub(crate) fn weather(&self) -> Weather {
        self.state().weather
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.state().is_calm
    }

    /// From here on nothing goes wrong any more.
    pub(crate) fn calm(&self) {
        let mut state = self.state();
        state.is_calm = true;
        state.weather = Weather::CALM;
        state.clock_stands = false;
    }

    pub(crate) fn count(&self, mishap: Mishap) {
        self.state().mishaps[mishap as usize] += 1;
    }

    /// Lets the time pass to the next moment that something waits for; false if nothing waits.
    pub(crate) fn pass(&self) -> bool {
        let Some(next) = self.0.timer.next_wakeup() else { return false };
        let by = next.saturating_sub(self.0.timer.now());
        let step = {
            let mut state = self.state();
            let Weather { clock, .. } = state.weather;
            if clock > 0 && state.random.below(1000) < clock {
                state.clock_stands = !state.clock_stands;
                state.mishaps[Mishap::Clock as usize] += 1;
            }
            let stands = state.clock_stands;
            let jumps = clock > 0 && !stands && state.random.below(1000) < clock;
            if jumps {
                state.mishaps[Mishap::Clock as usize] += 1;
            }
            match (stands, jumps) {
                (true, _) => Duration::ZERO,
                (false, true) => by + Duration::from_millis(state.random.below(12_000)),
                (false, false) => by,
            }
        };
        self.0.clock.advance(step);
        self.0.timer.advance(by);
        true
    }

    pub(crate) fn spawn(&self, process: Process, work: impl Future<Output = ()> + Send + 'static) {
        self.state().spawned.push((process, Box::pin(work)));
    }

    /// A process that no other has been.
    pub(crate) fn new_process(&self) -> Process {
        let mut state = self.state();
        state.next_process += 1;
        Process(state.next_process)
    }

    /// A number that no message of the schedule has.
    pub(crate) fn next_id(&self) -> u64 {
        let mut state = self.state();
        state.next_id += 1;
        state.next_id
    }

    /// Kills a process after so many more polls of its tasks.
    pub(crate) fn kill_after(&self, process: Process, polls: u32) {
        self.state().dying.insert(process, polls);
    }

    pub(crate) fn kill(&self, process: Process) {
        let mut state = self.state();
        state.dying.remove(&process);
        state.paused.remove(&process);
        state.killed.insert(process);
    }

    pub(crate) fn pause(&self, process: Process) {
        self.state().paused.insert(process);
    }

    pub(crate) fn resume(&self, process: Process) {
        self.state().paused.remove(&process);
    }

    /// Notes that a promise was broken; the first one counts.
    pub(crate) fn fail(&self, why: impl Into<String>) {
        let why = why.into();
        self.trace(|| format!("BROKEN: {why}"));
        self.0.failed.store(true, Ordering::Relaxed);
        self.state().failure.get_or_insert(why);
    }

    pub(crate) fn require(&self, holds: bool, why: impl FnOnce() -> String) {
        if !holds {
            self.fail(why());
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.0.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn take_failure(&self) -> Option<String> {
        self.state().failure.take()
    }

    /// Adds a line to the trace, if there is one.
    pub(crate) fn trace(&self, line: impl FnOnce() -> String) {
        if self.0.is_traced {
            let (now, line) = (self.0.timer.now(), line());
            let _ = writeln!(self.state().trace, "{:>9.3} s  {line}", now.as_secs_f64());
        }
    }

    pub(crate) fn take_trace(&self) -> String {
        std::mem::take(&mut self.state().trace)
    }

    pub(crate) async fn sleep(&self, time: Duration) {
        self.0.timer.sleep(time).await;
    }
}
