use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread::{self, ThreadId},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// What a test's thread logs: every span with its fields, every value, and a line for each event.
pub struct Log(Arc<Mutex<Noted>>);

#[derive(Default)]
pub struct Noted {
    pub spans: BTreeSet<String>,
    /// Every value of every span and event, one a line.
    pub values: String,
    /// Every event: its level, its message, and its fields in alphabetical order.
    pub lines: Vec<String>,
}

impl Log {
    /// Begins anew for this thread.
    pub fn of_this_thread() -> Self {
        let noted = Arc::<Mutex<Noted>>::default();
        logs().insert(thread::current().id(), Arc::clone(&noted));
        Self(noted)
    }

    pub fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap()
    }

    /// The lines with this message.
    pub fn lines(&self, message: &str) -> Vec<String> {
        let lines = self.noted().lines.clone();
        lines.into_iter().filter(|line| line.contains(&format!(" {message}:"))).collect()
    }
}

type Logs = HashMap<ThreadId, Arc<Mutex<Noted>>>;

/// One subscriber serves all threads, because the first thread that comes by decides whether a callsite is of interest.
fn logs() -> MutexGuard<'static, Logs> {
    static LOGS: OnceLock<Mutex<Logs>> = OnceLock::new();
    let logs = LOGS.get_or_init(|| {
        tracing::subscriber::set_global_default(Dispatcher).unwrap();
        Mutex::default()
    });
    logs.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Dispatcher;

impl Dispatcher {
    fn note(note: impl FnOnce(&mut Noted)) {
        let noted = logs().get(&thread::current().id()).cloned();
        if let Some(noted) = noted {
            note(&mut noted.lock().unwrap());
        }
    }
}

impl Subscriber for Dispatcher {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("claimstream")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        Self::note(|noted| {
            let fields: Vec<_> = span.metadata().fields().iter().map(|field| field.name()).collect();
            noted.spans.insert(format!("{}({})", span.metadata().name(), fields.join(" ")));
            span.record(noted);
        });
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        Self::note(|noted| values.record(noted));
    }

    fn event(&self, event: &Event<'_>) {
        Self::note(|noted| {
            event.record(noted);
            let mut line = Line::default();
            event.record(&mut line);
            line.fields.sort();
            let (level, fields) = (event.metadata().level(), line.fields.join(" "));
            noted.lines.push(format!("{level} {}: {fields}", line.message));
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Visit for Noted {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.values += &format!("{}={value:?}\n", field.name());
    }
}

#[derive(Default)]
struct Line {
    message: String,
    fields: Vec<String>,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push(format!("{name}={value:?}")),
        }
    }
}
