use std::{process::Stdio, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{Failure, contender::Contender};

/// A process that works for the bench: it says that it is ready, waits for the word, works, reports, and ends.
///
/// It is ended with this value.
pub(crate) struct Child {
    process: tokio::process::Child,
    input: ChildStdin,
    answers: BufReader<ChildStdout>,
    what: String,
}

impl Child {
    const TIMEOUT: Duration = Duration::from_secs(60);

    /// Starts the contender's program with a verb and a job.
    pub(crate) fn start(contender: &Contender, verb: &str, job: &impl Serialize) -> Result<Self, Failure> {
        let mut process = Command::new(contender.program()?)
            .arg(verb)
            .arg(serde_json::to_string(job)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let answers = BufReader::new(process.stdout.take().ok_or("no standard output")?);
        let input = process.stdin.take().ok_or("no standard input")?;
        Ok(Self { process, input, answers, what: format!("{contender} ({verb})") })
    }

    /// Runs one from its start to its end, without a word in between.
    pub(crate) async fn run(
        contender: &Contender,
        verb: &str,
        job: &impl Serialize,
        within: Duration,
    ) -> Result<String, Failure> {
        let mut child = Self::start(contender, verb, job)?;
        let mut answer = String::new();
        timeout(within, child.answers.read_to_string(&mut answer))
            .await
            .map_err(|_| child.late(within))??;
        child.end().await?;
        Ok(answer)
    }

    pub(crate) async fn ready(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        let read = timeout(Self::TIMEOUT, self.answers.read_line(&mut line)).await;
        read.map_err(|_| self.late(Self::TIMEOUT))??;
        match line.trim() {
            "ready" => Ok(()),
            "" => Err(format!("{} did not start: {}", self.what, self.process.wait().await?).into()),
            other => Err(format!("{} did not start: {other}", self.what).into()),
        }
    }

    /// Tells it to go, or, the second time, to stop.
    pub(crate) async fn go(&mut self) -> Result<(), Failure> {
        self.input.write_all(b"go\n").await?;
        Ok(self.input.flush().await?)
    }

    /// What it reports.
    pub(crate) async fn finish<T: DeserializeOwned>(mut self, within: Duration) -> Result<T, Failure> {
        let mut answer = Vec::new();
        let read = timeout(within, self.answers.read_to_end(&mut answer)).await;
        read.map_err(|_| self.late(within))??;
        self.end().await?;
        Ok(serde_json::from_slice(&answer)?)
    }

    async fn end(&mut self) -> Result<(), Failure> {
        let status = self.process.wait().await?;
        if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", self.what).into()) }
    }

    fn late(&self, within: Duration) -> Failure {
        format!("{} has not answered within {within:?}", self.what).into()
    }
}
