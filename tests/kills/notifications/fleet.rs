use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use uuid::Uuid;

use crate::{Failure, Options, sink::unix_micros};

/// The processes that deliver; they end with it.
pub(crate) struct Fleet {
    start: Box<Start>,
    started: u32,
    members: Vec<Member>,
    kill_every: Option<Duration>,
    next_kill: Instant,
    kills: Vec<Kill>,
}

/// What starts the process of a place under a number of its own. It lives until its standard input ends, which it does as well
/// when this process is gone.
pub(crate) type Start = dyn Fn(u16, u32) -> Result<Command, Failure>;

/// A process and the place that it has.
struct Member {
    place: u16,
    number: u32,
    process: Child,
}

/// A process that was killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kill {
    /// Its number.
    pub(crate) process: u32,
    /// When it was gone, in microseconds since 1970.
    pub(crate) at: u64,
}

impl Fleet {
    /// How long processes that were asked to stop may take.
    const STOPPING: Duration = Duration::from_secs(60);

    /// Starts as many processes as the options say.
    pub(crate) fn start(
        options: &Options,
        start: impl Fn(u16, u32) -> Result<Command, Failure> + 'static,
    ) -> Result<Self, Failure> {
        let mut fleet = Self {
            start: Box::new(start),
            started: 0,
            members: Vec::new(),
            kill_every: options.kill_every,
            next_kill: Instant::now() + options.kill_every.unwrap_or_default(),
            kills: Vec::new(),
        };
        (0..options.instances).try_for_each(|place| fleet.launch(place))?;
        Ok(fleet)
    }

    fn launch(&mut self, place: u16) -> Result<(), Failure> {
        self.started += 1;
        let mut command = (self.start)(place, self.started)?;
        let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        self.members.push(Member { place, number: self.started, process });
        Ok(())
    }

    /// Kills one if it is time, and refuses to go on if one has ended by itself.
    pub(crate) fn tend(&mut self) -> Result<(), Failure> {
        for member in &mut self.members {
            if let Some(status) = member.process.try_wait()? {
                return Err(format!("process {} ended by itself: {status}", member.number).into());
            }
        }
        if let Some(every) = self.kill_every.filter(|_| Instant::now() >= self.next_kill) {
            let unlucky = Uuid::now_v7().as_u128() as usize % self.members.len();
            let Member { place, number, mut process } = self.members.swap_remove(unlucky);
            let (killed, waited) = (process.kill(), process.wait());
            killed?;
            waited?;
            self.kills.push(Kill { process: number, at: unix_micros() });
            self.launch(place)?;
            self.next_kill = Instant::now() + every;
        }
        Ok(())
    }

    /// Which have been killed so far.
    pub(crate) fn kills(&self) -> &[Kill] {
        &self.kills
    }

    /// Asks all to stop, waits until they have ended well, and tells which had been killed before.
    pub(crate) async fn stop(mut self) -> Result<Vec<Kill>, Failure> {
        for member in &mut self.members {
            drop(member.process.stdin.take());
        }
        let asked = Instant::now();
        for Member { number, process, .. } in &mut self.members {
            let status = loop {
                match process.try_wait()? {
                    Some(status) => break status,
                    None if asked.elapsed() > Self::STOPPING => {
                        let limit = Self::STOPPING;
                        return Err(format!("process {number} did not stop within {limit:?}").into());
                    }
                    None => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            };
            if !status.success() {
                return Err(format!("process {number} was asked to stop and failed: {status}").into());
            }
        }
        Ok(std::mem::take(&mut self.kills))
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for Member { process, .. } in &mut self.members {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
