use std::{
    collections::BTreeSet,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use uuid::Uuid;

use crate::{Failure, Options, instance::Job};

/// The relay processes.
pub(crate) struct Fleet {
    job: String,
    relays: Vec<Child>,
    kill_every: Option<Duration>,
    next_kill: Instant,
    killed: BTreeSet<u32>,
}

impl Fleet {
    pub(crate) fn start(job: &Job, options: &Options) -> Result<Self, Failure> {
        let mut fleet = Self {
            job: serde_json::to_string(job)?,
            relays: Vec::new(),
            kill_every: options.kill_every,
            next_kill: Instant::now() + options.kill_every.unwrap_or_default(),
            killed: BTreeSet::new(),
        };
        for _ in 0..options.instances {
            fleet.launch()?;
        }
        Ok(fleet)
    }

    fn launch(&mut self) -> Result<(), Failure> {
        let relay = Command::new(std::env::current_exe()?)
            .arg("--instance")
            .arg(&self.job)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        self.relays.push(relay);
        Ok(())
    }

    /// Kills one if it is time, and refuses to go on if one has ended by itself.
    pub(crate) fn tend(&mut self) -> Result<(), Failure> {
        for relay in &mut self.relays {
            if let Some(status) = relay.try_wait()? {
                return Err(format!("relay process {} ended by itself: {status}", relay.id()).into());
            }
        }
        if let Some(every) = self.kill_every.filter(|_| Instant::now() >= self.next_kill) {
            let unlucky = Uuid::now_v7().as_u128() as usize % self.relays.len();
            let mut relay = self.relays.swap_remove(unlucky);
            let (killed, waited) = (relay.kill(), relay.wait());
            killed?;
            waited?;
            self.killed.insert(relay.id());
            self.launch()?;
            self.next_kill = Instant::now() + every;
        }
        Ok(())
    }

    /// Asks all to stop, waits for them, and tells which had been killed before.
    pub(crate) fn stop(mut self) -> Result<BTreeSet<u32>, Failure> {
        for relay in &mut self.relays {
            let _ = Command::new("kill").arg("-TERM").arg(relay.id().to_string()).status();
        }
        for relay in &mut self.relays {
            relay.wait()?;
        }
        Ok(std::mem::take(&mut self.killed))
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for relay in &mut self.relays {
            let _ = relay.kill();
            let _ = relay.wait();
        }
    }
}
