use std::{io::Write, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Failure, Options, ceiling, contender::Contender, library};

/// What an instance is started with.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Job {
    pub(crate) url: String,
    pub(crate) contender: String,
    pub(crate) backlog: usize,
    pub(crate) batch: usize,
    pub(crate) number: usize,
    pub(crate) instances: usize,
}

/// What an instance has done.
#[derive(Serialize, Deserialize, Debug, Default)]
pub(crate) struct Work {
    /// When its last acknowledgement was accepted.
    pub(crate) last: Duration,
    /// What was handed out to it, in order, whatever came of it.
    pub(crate) handed_out: Vec<u128>,
    /// Those whose acknowledgement was accepted.
    pub(crate) acknowledged: Vec<u128>,
    /// How many acknowledgements came too late.
    pub(crate) superseded: usize,
}

impl Job {
    pub(crate) fn new(
        url: &str,
        contender: Contender,
        options: &Options,
        number: usize,
        instances: usize,
    ) -> Self {
        let (backlog, batch) = (options.backlog, options.batch);
        Self { url: url.into(), contender: contender.name().into(), backlog, batch, number, instances }
    }
}

/// The life of an instance: get ready, say so, wait for the word, work, report.
pub(crate) async fn run(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let work = match job.contender.parse()? {
        Contender::Ceilxr => ceiling::Bound::ready(&job).await?.drain(say_ready_and_wait).await?,
        contender => library::Instance::ready(&job, contender).await?.drain(say_ready_and_wait).await?,
    };
    Ok(std::io::stdout().write_all(&serde_json::to_vec(&work)?)?)
}

fn say_ready_and_wait() -> Result<(), Failure> {
    println!("ready");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(())
}
