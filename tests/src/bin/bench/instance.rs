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
pub(crate) struct Work {
    /// When its last acknowledgement came.
    pub(crate) last: Duration,
    /// What it handled, in order.
    pub(crate) handled: Vec<u128>,
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
    let mut report = (work.last.as_micros()).to_be_bytes().to_vec();
    report.extend(work.handled.iter().flat_map(|id| id.to_be_bytes()));
    std::io::stdout().write_all(&report)?;
    Ok(())
}

fn say_ready_and_wait() -> Result<(), Failure> {
    println!("ready");
    std::io::stdout().flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(())
}
