use std::{collections::BTreeMap, process::ExitCode, sync::Arc};

use claimstream::SharedConcurrency;
use claimstream_metrics::DatabaseLabel;
use claimstream_tokio::TokioTimer;
use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinSet},
};
use tracing::Instrument;

use crate::{
    Exit, OneDatabase,
    config::{Config, DatabaseName},
    failure::Failure,
    measuring::Measuring,
    one_relay::{OneRelay, RelayEnd, Until},
    open_databases::OpenDatabases,
    wakeups::Wakeups,
    work::Purpose,
};

/// The relays of a process that has several databases, a task for each.
///
/// Each has its own connections, claims and leases, so one whose database is away holds up no other. They share the limit on handlers
/// that the configuration may set, and the providers' servers.
pub(crate) struct Relays {
    purpose: Purpose,
    until: Until,
    timer: TokioTimer,
    limit: Option<SharedConcurrency>,
    running: BTreeMap<DatabaseName, RunningRelay>,
    tasks: JoinSet<Result<RelayEnd, Failure>>,
    names: BTreeMap<Id, DatabaseName>,
    databases: OpenDatabases,
    /// The wakeups of the database that this process writes to itself.
    written: Option<(DatabaseName, Arc<Wakeups>)>,
    failed: Option<Failure>,
    /// Whether one has ended before its broker had taken all.
    is_unpublished: bool,
}

struct RunningRelay {
    database: OneDatabase,
    stop: watch::Sender<bool>,
    drain: watch::Sender<bool>,
    task: Id,
}

impl Relays {
    pub(crate) fn new(
        purpose: Purpose,
        until: Until,
        config: &Config,
        timer: TokioTimer,
        databases: OpenDatabases,
    ) -> Self {
        // What is refused here is refused when a configuration is read.
        let limit = config.relay.process_concurrency.and_then(|most| SharedConcurrency::new(most).ok());
        Self {
            purpose,
            until,
            timer,
            limit,
            running: BTreeMap::new(),
            tasks: JoinSet::new(),
            names: BTreeMap::new(),
            databases,
            written: None,
            failed: None,
            is_unpublished: false,
        }
    }

    /// Wakes the relay on this database by what the process writes there.
    #[cfg(feature = "http")]
    pub(crate) fn woken_by(self, database: DatabaseName, wakeups: Arc<Wakeups>) -> Self {
        Self { written: Some((database, wakeups)), ..self }
    }

    /// Works on the databases of this configuration from now on: begins with those that are new, stops in order with those that are
    /// gone, begins again with those whose location changed, and leaves all others alone.
    pub(crate) fn follow(&mut self, config: &Config, measuring: &Measuring) {
        let wanted = config.each_database();
        let gone: Vec<DatabaseName> =
            self.running.keys().filter(|name| !is_in(name, &wanted)).cloned().collect();
        gone.iter().for_each(|name| self.stop(name));
        for database in wanted {
            let Some(name) = database.name.clone() else { continue };
            match self.running.get_mut(&name) {
                Some(known) if known.database.config.database == database.config.database => {
                    if known.database.drain != database.drain {
                        tracing::info!(database = %name, drain = database.drain, "draining was changed");
                    }
                    known.drain.send_replace(database.drain);
                    known.database.drain = database.drain;
                }
                Some(_) => {
                    self.stop(&name);
                    self.start(name, database, measuring);
                }
                None => self.start(name, database, measuring),
            }
        }
    }

    /// Tells all of them to stop.
    pub(crate) fn stop_all(&mut self) {
        let names: Vec<DatabaseName> = self.running.keys().cloned().collect();
        names.iter().for_each(|name| self.stop(name));
    }

    /// Ends when every relay has ended; answers how.
    ///
    /// It may be dropped and called again.
    pub(crate) async fn ended(&mut self) -> Result<ExitCode, Failure> {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.note(ended);
        }
        match self.failed.take() {
            Some(failure) => Ok(failure.exit_code()),
            None if self.is_unpublished => Ok(Exit::NotDone.into()),
            None => Ok(ExitCode::SUCCESS),
        }
    }

    fn note(&mut self, ended: Result<(Id, Result<RelayEnd, Failure>), JoinError>) {
        let (id, ended) = match ended {
            Ok(ended) => ended,
            Err(lost) => std::panic::resume_unwind(lost.into_panic()),
        };
        let Some(name) = self.names.remove(&id) else { return };
        match ended {
            Ok(ended) => {
                self.is_unpublished |= ended.is_unpublished;
                if let Some(report) = ended.report {
                    report.log(Some(&name));
                }
            }
            Err(failure) => {
                tracing::error!(database = %name, error = %failure, "the relay on the database has ended; others go on");
                self.failed = Some(failure);
                // Then the next reading of the configuration begins it again, unless another has taken its place.
                if self.running.get(&name).is_some_and(|running| running.task == id) {
                    self.running.remove(&name);
                }
            }
        }
    }

    fn start(&mut self, name: DatabaseName, database: OneDatabase, measuring: &Measuring) {
        let (stop, stopped) = watch::channel(false);
        let (drain, draining) = watch::channel(database.drain);
        let label = DatabaseLabel::named(name.as_str());
        let wakeups = match &self.written {
            Some((written, wakeups)) if *written == name => Arc::clone(wakeups),
            _ => Arc::new(Wakeups::of_relay(&database.config)),
        };
        let relay = OneRelay {
            name: name.clone(),
            config: database.config.clone(),
            timer: self.timer,
            purpose: self.purpose.clone(),
            until: self.until,
            drain: draining,
            stop: stopped,
            telemetry: measuring.telemetry_in(&label),
            counting: measuring.counting(label),
            share: self.limit.as_ref().map(SharedConcurrency::share),
            wakeups,
            databases: self.databases.clone(),
        };
        self.databases.await_one(name.clone());
        // So that each line of the log says which database it is about.
        let span = tracing::error_span!("database", %name);
        let task = self.tasks.spawn(relay.run().instrument(span));
        let task = task.id();
        self.names.insert(task, name.clone());
        self.running.insert(name, RunningRelay { database, stop, drain, task });
    }

    fn stop(&mut self, name: &DatabaseName) {
        if let Some(running) = self.running.remove(name) {
            tracing::info!(database = %name, "the relay on the database stops after the messages in hand");
            running.stop.send_replace(true);
            self.databases.leave(name);
        }
    }
}

fn is_in(name: &DatabaseName, databases: &[OneDatabase]) -> bool {
    databases.iter().any(|database| database.is(name.as_str()))
}
