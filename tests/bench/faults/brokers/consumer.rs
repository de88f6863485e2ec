use std::{process::Stdio, sync::Arc, time::Duration};

use claimstream_testbed::work::Tally;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdout, Command},
    sync::Notify,
    task::JoinHandle,
    time::timeout,
};

use super::{
    gate::{HANDLED, Point, STANDS},
    target::Target,
};
use crate::Failure;

/// What a consumer reads, and where it has its effects.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct ConsumerJob {
    pub(super) inbox: String,
    pub(super) target: Target,
    pub(super) broker: String,
}

/// A consumer in a process of its own, which is killed with signal 9.
pub(super) struct ConsumerProcess {
    job: String,
    tally: Arc<Tally>,
    child: Child,
    stands: Arc<Notify>,
    listening: JoinHandle<Result<(), Failure>>,
}

/// The command of this program that makes it a consumer.
const COMMAND: &str = "consume-orders";
/// How long a message may take to come to the point at which the consumer is killed.
const TIMEOUT: Duration = Duration::from_secs(60);

impl ConsumerProcess {
    pub(super) fn start(job: &ConsumerJob, tally: Arc<Tally>) -> Result<Self, Failure> {
        let job = serde_json::to_string(job)?;
        let mut child = started(&job)?;
        let stands = Arc::<Notify>::default();
        let listening = listen(&mut child, &tally, &stands)?;
        Ok(Self { job, tally, child, stands, listening })
    }

    /// Waits until it stands at this point with a message in hand.
    pub(super) async fn reach(&mut self, point: Point) -> Result<(), Failure> {
        let stdin = self.child.stdin.as_mut().ok_or("the consumer has no input")?;
        stdin.write_all(format!("{}\n", point.name()).as_bytes()).await?;
        let reached = timeout(TIMEOUT, self.stands.notified()).await;
        reached.map_err(|_| format!("no message came {} within {TIMEOUT:?}", point.name()).into())
    }

    /// Kills it, and hears what it said before.
    pub(super) async fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill().await?;
        (&mut self.listening).await?
    }

    pub(super) fn start_again(&mut self) -> Result<(), Failure> {
        self.child = started(&self.job)?;
        self.listening = listen(&mut self.child, &self.tally, &self.stands)?;
        Ok(())
    }
}

fn started(job: &str) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([COMMAND, job]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()
}

fn listen(
    child: &mut Child,
    tally: &Arc<Tally>,
    stands: &Arc<Notify>,
) -> Result<JoinHandle<Result<(), Failure>>, Failure> {
    let said = child.stdout.take().ok_or("the consumer has no output")?;
    Ok(tokio::spawn(hear(said, Arc::clone(tally), Arc::clone(stands))))
}

async fn hear(said: ChildStdout, tally: Arc<Tally>, stands: Arc<Notify>) -> Result<(), Failure> {
    let mut lines = BufReader::new(said).lines();
    while let Some(line) = lines.next_line().await? {
        match line.strip_prefix(HANDLED) {
            Some(id) => tally.delivered(id.parse()?),
            None if line == STANDS => stands.notify_one(),
            None => return Err(format!("the consumer says {line:?}").into()),
        }
    }
    Ok(())
}
