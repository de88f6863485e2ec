use std::time::Duration;

use async_trait::async_trait;
use claimstream::PipelineMonitor;
use claimstream_http::Readiness;
use claimstream_metrics::{DatabaseLabel, PipelineHealth, show_pipeline_in};

use crate::{
    config::DatabaseName,
    open_databases::{Monitors, OpenDatabases},
    readiness::fault,
    stopping::Stopping,
};

/// Whether a process that has several databases is ready: it does not stop, and one of its databases works. A database that is away
/// is no reason to end a process that works on others; the metrics and the log name it.
pub(crate) struct SeveralReadiness {
    pub(crate) databases: OpenDatabases,
    pub(crate) silence: Duration,
    pub(crate) stopping: Stopping,
}

#[async_trait]
impl Readiness for SeveralReadiness {
    async fn failing(&self) -> Vec<String> {
        let (all, faults) = self.databases.faults(self.silence);
        let mut failing = Vec::new();
        if self.stopping.has_begun() {
            failing.push("the process stops".into());
        }
        if faults.len() == all {
            failing.extend(faults);
        }
        failing
    }
}

impl OpenDatabases {
    /// Shows of each pipeline whether it works; those of a database that could not be opened do not.
    pub(crate) fn show(&self, silence: Duration) {
        for (name, monitors) in self.all().iter() {
            let label = DatabaseLabel::named(name.as_str());
            if monitors.is_empty() {
                self.queues.iter().for_each(|queue| show_pipeline_in(&label, queue, PipelineHealth::Fails));
            }
            for (queue, monitor) in monitors {
                let health =
                    found_fault(monitor, silence).map_or(PipelineHealth::Works, |_| PipelineHealth::Fails);
                show_pipeline_in(&label, queue, health);
            }
        }
    }

    /// What is wrong with each database with which something is.
    fn faults(&self, silence: Duration) -> (usize, Vec<String>) {
        let all = self.all();
        let of_one = |(name, monitors): (&DatabaseName, &Monitors)| {
            let found = monitors.iter().find_map(|(queue, monitor)| {
                Some(format!("database {name}, {queue}: {}", found_fault(monitor, silence)?))
            });
            found.or_else(|| monitors.is_empty().then(|| format!("database {name} does not answer")))
        };
        (all.len(), all.iter().filter_map(of_one).collect())
    }
}

fn found_fault(monitor: &PipelineMonitor, silence: Duration) -> Option<String> {
    fault(&monitor.state(), monitor.silent_for().unwrap_or_default(), silence)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: a database that was left while it was opened stays away | src/open_databases.rs `enter`: it is inserted
    #[test]
    fn a_database_that_was_left_while_it_was_opened_stays_away() {
        let databases = OpenDatabases::with(vec!["orders".into()]);
        let name = DatabaseName::new("eu").unwrap();
        databases.await_one(name.clone());
        databases.leave(&name);
        databases.enter(&name, Vec::new());
        assert_eq!(databases.faults(Duration::ZERO), (0, Vec::new()));
    }
}
