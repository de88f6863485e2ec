use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Instant,
};

use claimstream_domain::MessageId;

use super::holder::{CLAIM_LEASE, Fate, JOB, Job, LOCK_LEASE};

/// Instances, each a process of its own, and what they have reported.
pub(super) struct Fleet {
    job: Job,
    members: Vec<Member>,
    reported: Arc<Mutex<Vec<Reported>>>,
    /// How many were killed, by themselves while they held the lock or by us.
    pub(super) died: usize,
    /// How many were stopped, by themselves while they held the lock or by us, and went on later.
    pub(super) paused: usize,
}

struct Member {
    child: Child,
    reading: Option<JoinHandle<()>>,
    /// Since when it has been stopped.
    stopped: Option<Instant>,
}

/// One line of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reported {
    Handled(MessageId),
    Accepted(MessageId),
    Superseded(MessageId),
}

impl Reported {
    fn of(line: &str) -> Option<Self> {
        let (what, id) = line.split_once(' ')?;
        let id = MessageId::new(id.parse().ok()?);
        match what {
            "handled" => Some(Self::Handled(id)),
            "accepted" => Some(Self::Accepted(id)),
            "superseded" => Some(Self::Superseded(id)),
            _ => None,
        }
    }

    pub(super) fn handled(&self) -> Option<&MessageId> {
        if let Self::Handled(id) = self { Some(id) } else { None }
    }

    pub(super) fn accepted(&self) -> Option<&MessageId> {
        if let Self::Accepted(id) = self { Some(id) } else { None }
    }
}

impl Fleet {
    /// One that dies as a holder, one that is paused as a holder, and one that lives.
    pub(super) fn start(url: &str, lock: &str) -> Self {
        let job = Job { url: url.into(), lock: lock.into(), fate: Fate::Lives };
        let mut fleet = Self { job, members: Vec::new(), reported: Arc::default(), died: 0, paused: 0 };
        [Fate::Dies(4), Fate::Pauses(4), Fate::Lives].into_iter().for_each(|fate| fleet.add(fate));
        fleet
    }

    fn add(&mut self, fate: Fate) {
        let job = serde_json::to_string(&Job { fate, ..self.job.clone() }).expect("a job");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let command = command.env(JOB, job).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let (lines, reported) =
            (BufReader::new(child.stdout.take().expect("its output")), self.reported.clone());
        let reading = std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
                reported.extend(Reported::of(&line));
            }
        });
        self.members.push(Member { child, reading: Some(reading), stopped: None });
    }

    /// Replaces the dead, and lets those who are stopped go on when all that they had is over.
    pub(super) fn look_after(&mut self) {
        for at in (0..self.members.len()).rev() {
            let member = &mut self.members[at];
            if member.child.try_wait().expect("its state").is_some() {
                self.members.swap_remove(at);
                self.died += 1;
                self.add(Fate::Lives);
                continue;
            }
            match member.stopped {
                None if member.is_stopped() => member.stopped = Some(Instant::now()),
                Some(since) if since.elapsed() > CLAIM_LEASE + LOCK_LEASE => {
                    member.signal("-CONT");
                    member.stopped = None;
                    self.paused += 1;
                }
                _ => {}
            }
        }
    }

    /// Kills one that is not stopped, whatever it does; the next look replaces it.
    pub(super) fn kill_one(&mut self) {
        let running = self.members.iter_mut().find(|member| !member.is_stopped());
        running.expect("one that runs").child.kill().expect("kill");
    }

    /// Stops one that is not stopped, whatever it does; it goes on when all that it had is over.
    pub(super) fn pause_one(&mut self) {
        let running = self.members.iter().rev().find(|member| !member.is_stopped());
        running.expect("one that runs").signal("-STOP");
    }

    pub(super) fn has_paused(&self) -> bool {
        self.members.iter().any(|member| member.stopped.is_some())
    }

    pub(super) fn figures(&self) -> String {
        let reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |which: fn(&&Reported) -> bool| reported.iter().filter(which).count();
        format!(
            "{} killed, {} paused, {} handled, {} accepted, {} superseded",
            self.died,
            self.paused,
            count(|reported| matches!(reported, Reported::Handled(_))),
            count(|reported| matches!(reported, Reported::Accepted(_))),
            count(|reported| matches!(reported, Reported::Superseded(_))),
        )
    }

    /// Stops all in order and answers what all have reported.
    pub(super) fn stop(mut self) -> Vec<Reported> {
        for member in &mut self.members {
            drop(member.child.stdin.take());
        }
        for member in &mut self.members {
            let status = member.child.wait().expect("its end");
            assert!(status.success(), "an instance ended with {status}");
        }
        for reading in self.members.iter_mut().filter_map(|member| member.reading.take()) {
            reading.join().expect("a reader");
        }
        std::mem::take(&mut self.reported.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Member {
    fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    }

    fn signal(&self, which: &str) {
        let sent = Command::new("kill").args([which, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill").success(), "no such process");
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}
