use std::{
    io::Read,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use claimstream::{Lease, Pacing, Relay, RelayConfig};
use claimstream_domain::publishing::{EventMode, Route, RouteTemplate};
use claimstream_publishing::PublishHandler;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use claimstream_tokio::TokioTimer;
use serde::{Deserialize, Serialize};

use super::{orders::QUEUE, target::Target};
use crate::Failure;

/// What a relay publishes, and where.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Job {
    pub(super) outbox: String,
    pub(super) strategy: String,
    pub(super) target: Target,
    pub(super) broker: String,
}

/// A relay in a process of its own, which is killed with signal 9.
pub(super) struct RelayProcess {
    job: String,
    child: Child,
}

impl RelayProcess {
    pub(super) fn start(job: &Job) -> Result<Self, Failure> {
        let job = serde_json::to_string(job)?;
        let child = started(&job)?;
        Ok(Self { job, child })
    }

    pub(super) fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    pub(super) fn start_again(&mut self) -> Result<(), Failure> {
        self.child = started(&self.job)?;
        Ok(())
    }
}

impl Drop for RelayProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn started(job: &str) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([COMMAND, job]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
}

/// The command of this program that makes it a relay.
const COMMAND: &str = "publish-relay";
const LEASE: Duration = Duration::from_secs(2);
const IDLE_MAX: Duration = Duration::from_millis(100);

/// Publishes until this process is killed, or its standard input is closed.
pub(crate) async fn publish(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let outbox = Arc::new(SeaOrmOutbox::open(&job.outbox, options(&job.strategy)?).await?);
    let publisher = job.target.publisher(&job.broker)?;
    let route = Route { place: RouteTemplate::new(job.target.place())?, events: EventMode::Plain };
    let handler = PublishHandler::new(job.target.broker(), publisher, route, Arc::new(TokioTimer::new()));
    let config = RelayConfig {
        lease: Lease::new(LEASE)?,
        pacing: Pacing { idle_max: IDLE_MAX, ..Pacing::default() },
        ..RelayConfig::default()
    };
    let orphaned = async {
        let _ = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await;
    };
    let relay = Relay::new(outbox, TokioTimer::new(), config);
    relay.batch_pipeline(QUEUE, handler)?.run_until(orphaned).await?;
    Ok(())
}

/// With the order by key where the strategy keeps one.
pub(super) fn options(strategy: &str) -> Result<OpenOptions, Failure> {
    let mut options = OpenOptions {
        strategy: strategy.parse()?,
        max_connections: 6,
        relay_connections: 4,
        ..OpenOptions::default()
    };
    if keeps_order(strategy) {
        options.order = "per_key".parse()?;
    }
    Ok(options)
}

pub(super) fn keeps_order(strategy: &str) -> bool {
    strategy == "shard_lease"
}
