use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{Failure, options::Options, worker::Job};

/// The worker processes; they end with it.
pub(crate) struct Fleet {
    job: String,
    workers: Vec<Child>,
    every: Duration,
    next: Instant,
    pub(crate) kills: usize,
}

impl Fleet {
    pub(crate) fn start(job: &Job, options: &Options) -> Result<Self, Failure> {
        let (job, every) = (serde_json::to_string(job)?, options.kill_every);
        let mut fleet = Self { job, workers: Vec::new(), every, next: Instant::now() + every, kills: 0 };
        for _ in 0..options.workers {
            fleet.launch()?;
        }
        Ok(fleet)
    }

    /// Starts a worker that lives until its standard input ends, which it does as well when this process is gone.
    fn launch(&mut self) -> Result<(), Failure> {
        let mut worker = Command::new(std::env::current_exe()?);
        let worker =
            worker.arg("--worker").arg(&self.job).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        self.workers.push(worker);
        Ok(())
    }

    /// Kills one with SIGKILL if it is time, and refuses to go on if one has ended by itself.
    pub(crate) fn tend(&mut self) -> Result<(), Failure> {
        for worker in &mut self.workers {
            if let Some(status) = worker.try_wait()? {
                return Err(format!("worker {} ended by itself: {status}", worker.id()).into());
            }
        }
        if Instant::now() >= self.next {
            let unlucky = Uuid::now_v7().as_u128() as usize % self.workers.len();
            let mut worker = self.workers.swap_remove(unlucky);
            let (killed, waited) = (worker.kill(), worker.wait());
            killed?;
            waited?;
            self.kills += 1;
            self.launch()?;
            self.next = Instant::now() + self.every;
        }
        Ok(())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}
