use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use uuid::Uuid;

use crate::{Failure, Options, instance::Job, sink::unix_micros};

/// The relay processes; they end with it.
pub(crate) struct Fleet {
    job: String,
    relays: Vec<Child>,
    kill_every: Option<Duration>,
    next_kill: Instant,
    kills: Vec<Kill>,
}

/// A process that was killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kill {
    pub(crate) process: u32,
    /// When it was gone, in microseconds since 1970.
    pub(crate) at: u64,
}

impl Fleet {
    /// How long relays that were asked to stop may take.
    const STOPPING: Duration = Duration::from_secs(60);

    pub(crate) fn start(job: &Job, options: &Options) -> Result<Self, Failure> {
        let mut fleet = Self {
            job: serde_json::to_string(job)?,
            relays: Vec::new(),
            kill_every: options.kill_every,
            next_kill: Instant::now() + options.kill_every.unwrap_or_default(),
            kills: Vec::new(),
        };
        for _ in 0..options.instances {
            fleet.launch()?;
        }
        Ok(fleet)
    }

    /// Starts a relay that lives until its standard input ends, which it does as well when this process is gone.
    fn launch(&mut self) -> Result<(), Failure> {
        let relay = Command::new(std::env::current_exe()?)
            .arg("--instance")
            .arg(&self.job)
            .stdin(Stdio::piped())
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
            self.kills.push(Kill { process: relay.id(), at: unix_micros() });
            self.launch()?;
            self.next_kill = Instant::now() + every;
        }
        Ok(())
    }

    /// Asks all to stop, waits until they have ended well, and tells which had been killed before.
    pub(crate) async fn stop(mut self) -> Result<Vec<Kill>, Failure> {
        for relay in &mut self.relays {
            drop(relay.stdin.take());
        }
        let asked = Instant::now();
        for relay in &mut self.relays {
            let process = relay.id();
            let status = loop {
                match relay.try_wait()? {
                    Some(status) => break status,
                    None if asked.elapsed() > Self::STOPPING => {
                        return Err(format!(
                            "relay process {process} did not stop within {:?}",
                            Self::STOPPING
                        )
                        .into());
                    }
                    None => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            };
            if !status.success() {
                return Err(format!("relay process {process} was asked to stop and failed: {status}").into());
            }
        }
        Ok(std::mem::take(&mut self.kills))
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
