use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use claimstream_ports::Timer;
use futures::future::BoxFuture;

use crate::sim::{Process, Sim};

/// Runs the tasks of a schedule on this thread, in an order that the seed decides.
///
/// Time moves to the next wakeup only when no task is ready.
pub(crate) struct Executor {
    sim: Sim,
    tasks: Vec<Option<Task>>,
    ready: Arc<Mutex<Vec<usize>>>,
    /// Ready tasks of processes that are paused.
    aside: Vec<usize>,
}

struct Task {
    process: Process,
    future: BoxFuture<'static, ()>,
    waker: Waker,
    flag: Arc<TaskWaker>,
}

struct TaskWaker {
    task: usize,
    is_queued: AtomicBool,
    ready: Arc<Mutex<Vec<usize>>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::Relaxed) {
            locked(&self.ready).push(self.task);
        }
    }
}

impl Executor {
    /// A schedule that takes more polls than this has no end.
    const MOST_POLLS: u32 = 200_000;
    /// A schedule that takes longer than this, in its own time, has no end.
    const LONGEST: Duration = Duration::from_secs(4 * 3600);

    pub(crate) fn new(sim: &Sim) -> Self {
        Self { sim: sim.clone(), tasks: Vec::new(), ready: Arc::default(), aside: Vec::new() }
    }

    /// Runs `script` to its end, with everything that it spawns; answers how many polls that took.
    pub(crate) fn run(&mut self, script: BoxFuture<'static, ()>) -> u32 {
        self.add(Process::SCRIPT, script);
        let mut polls = 0;
        while self.tasks[0].is_some() && !self.sim.has_failed() {
            self.obey();
            if let Some(task) = self.next() {
                polls += 1;
                self.poll(task);
            } else if !self.sim.pass() {
                self.sim.fail("every task waits, and none for a moment in time");
            }
            if polls > Self::MOST_POLLS || self.sim.timer().now() > Self::LONGEST {
                self.sim.fail(format!("no end after {polls} polls and {:?}", self.sim.timer().now()));
            }
        }
        polls
    }

    fn add(&mut self, process: Process, future: BoxFuture<'static, ()>) {
        let free = self.tasks.iter().position(Option::is_none).unwrap_or(self.tasks.len());
        let ready = Arc::clone(&self.ready);
        let flag = Arc::new(TaskWaker { task: free, is_queued: AtomicBool::new(false), ready });
        let waker = Waker::from(Arc::clone(&flag));
        waker.wake_by_ref();
        let task = Some(Task { process, future, waker, flag });
        match self.tasks.get_mut(free) {
            Some(place) => *place = task,
            None => self.tasks.push(task),
        }
    }

    /// Takes in what was spawned, killed and resumed.
    fn obey(&mut self) {
        loop {
            let mut state = self.sim.state();
            if state.spawned.is_empty() && state.killed.is_empty() {
                break;
            }
            let (spawned, killed) = (std::mem::take(&mut state.spawned), std::mem::take(&mut state.killed));
            drop(state);
            for (process, future) in spawned {
                self.add(process, future);
            }
            for process in killed {
                self.sim.trace(|| format!("{process:?} is killed"));
                self.drop_tasks(process);
            }
        }
        if !self.aside.is_empty() {
            locked(&self.ready).append(&mut self.aside);
        }
    }

    fn drop_tasks(&mut self, process: Process) {
        for place in 0..self.tasks.len() {
            if self.tasks[place].as_ref().is_some_and(|task| task.process == process) {
                drop(self.tasks[place].take());
                locked(&self.ready).retain(|ready| *ready != place);
            }
        }
    }

    /// A ready task, chosen by the seed.
    fn next(&mut self) -> Option<usize> {
        loop {
            let mut ready = locked(&self.ready);
            let count = ready.len();
            if count == 0 {
                return None;
            }
            let at = if count == 1 { 0 } else { self.sim.below(count as u64) as usize };
            let task = ready.swap_remove(at);
            drop(ready);
            let Some(Task { process, flag, .. }) = &self.tasks[task] else { continue };
            if self.sim.state().paused.contains(process) {
                self.aside.push(task);
                continue;
            }
            flag.is_queued.store(false, Ordering::Relaxed);
            return Some(task);
        }
    }

    fn poll(&mut self, at: usize) {
        let Some(task) = &mut self.tasks[at] else { return };
        let process = task.process;
        let (future, waker) = (&mut task.future, &task.waker);
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(waker))));
        match polled {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(())) => self.remove(at),
            Err(panic) => {
                self.remove(at);
                let said = panic.downcast_ref::<String>().map(String::as_str);
                let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
                self.sim.fail(format!("a task panicked: {}", said.unwrap_or("without a word")));
            }
        }
        self.count_down(process);
    }

    fn remove(&mut self, at: usize) {
        drop(self.tasks[at].take());
        locked(&self.ready).retain(|ready| *ready != at);
    }

    fn count_down(&self, process: Process) {
        let mut state = self.sim.state();
        if state.dying.is_empty() {
            return;
        }
        let Some(left) = state.dying.get_mut(&process) else { return };
        *left = left.saturating_sub(1);
        if *left == 0 {
            drop(state);
            self.sim.kill(process);
        }
    }
}

fn locked(ready: &Mutex<Vec<usize>>) -> MutexGuard<'_, Vec<usize>> {
    ready.lock().unwrap_or_else(PoisonError::into_inner)
}
