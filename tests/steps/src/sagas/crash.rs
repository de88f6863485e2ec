use std::{
    future::pending,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

/// One runner's points: places in its course where it can be stopped for good, or until a test lets it continue.
///
/// Every transaction that writes a row of a saga has three: `inside`, when the row is written and the effect is not;
/// `before`, when only the commit is missing; and `after`. A transaction that is rolled back has one, `undone`.
#[derive(Clone, Default)]
pub(super) struct Crash(Arc<Points>);

#[derive(Default)]
struct Points {
    /// Where to stop: at the point with this number, or with this name.
    at: Mutex<Option<At>>,
    passed: AtomicUsize,
    /// What the open transaction is about.
    label: Mutex<Option<String>>,
    trail: Mutex<Vec<String>>,
    reached: Notify,
    go: Notify,
    kills: AtomicBool,
}

enum At {
    Number(usize),
    Name(String),
}

impl Crash {
    /// Never stops.
    pub(super) fn never() -> Self {
        Self::default()
    }

    /// Stops at the point with this number, counted from 0.
    pub(super) fn at(number: usize) -> Self {
        Self::of(At::Number(number))
    }

    /// Stops at the first point with this name, such as `after debit Done`.
    pub(super) fn at_point(name: &str) -> Self {
        Self::of(At::Name(name.to_owned()))
    }

    /// At its point the whole process is killed.
    pub(super) fn with_the_process(self) -> Self {
        self.0.kills.store(true, Ordering::SeqCst);
        self
    }

    fn of(at: At) -> Self {
        Self(Arc::new(Points { at: Mutex::new(Some(at)), ..Points::default() }))
    }

    /// Runs `course` until it ends or stops; nothing if it stopped, and then it is dropped where it was.
    pub(super) async fn run<T>(&self, course: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            ended = course => Some(ended),
            () = self.0.reached.notified() => None,
        }
    }

    /// Waits until the runner has stopped.
    pub(super) async fn stopped(&self) {
        self.0.reached.notified().await;
    }

    /// Lets it go on.
    pub(super) fn go_on(&self) {
        self.0.go.notify_one();
    }

    /// The names of the points that were passed, in order.
    pub(super) fn trail(&self) -> Vec<String> {
        lock(&self.0.trail).clone()
    }

    pub(super) fn about(&self, label: Option<String>) {
        *lock(&self.0.label) = label;
    }

    /// Passes a point of the open transaction, if that writes a row of a saga.
    pub(super) async fn pass(&self, when: &str) {
        let Some(label) = lock(&self.0.label).clone() else { return };
        let name = format!("{when} {label}");
        let number = self.0.passed.fetch_add(1, Ordering::SeqCst);
        lock(&self.0.trail).push(name.clone());
        let stops = match &*lock(&self.0.at) {
            Some(At::Number(at)) => *at == number,
            Some(At::Name(at)) => *at == name,
            None => false,
        };
        if !stops {
            return;
        }
        *lock(&self.0.at) = None;
        if self.0.kills.load(Ordering::SeqCst) {
            kill_this_process();
            pending::<()>().await;
        }
        self.0.reached.notify_one();
        self.0.go.notified().await;
    }
}

/// As `kill -9` does it: nothing is flushed, dropped or rolled back here.
fn kill_this_process() {
    let this = std::process::id().to_string();
    let _ = std::process::Command::new("kill").args(["-9", &this]).status();
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
