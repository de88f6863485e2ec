use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use claimstream_sea_orm::Order;

use crate::{Failure, Setting, instance::Job, unix_micros};

/// The instances, each a process of its own.
pub(crate) struct Fleet {
    job: Job,
    pub(crate) members: Vec<Member>,
}

/// One of the processes.
pub(crate) struct Member {
    pub(crate) job: Job,
    child: Child,
    /// When it began to work, in microseconds; 0 before.
    ready: Arc<AtomicI64>,
}

impl Fleet {
    pub(crate) fn start(url: &str, order: Order, setting: &Setting) -> Result<Self, Failure> {
        let job = Job {
            url: url.to_owned(),
            number: 0,
            order: order.name().to_owned(),
            lease: setting.lease,
            work: setting.work,
            seed: setting.seed,
        };
        let mut fleet = Self { job, members: Vec::new() };
        for _ in 0..setting.instances {
            fleet.add()?;
        }
        Ok(fleet)
    }

    /// Starts one more; it has the next number.
    pub(crate) fn add(&mut self) -> Result<&Member, Failure> {
        self.job.number += 1;
        self.members.push(Member::start(self.job.clone())?);
        Ok(&self.members[self.members.len() - 1])
    }

    /// The one with this label.
    pub(crate) fn position(&self, label: &str) -> Option<usize> {
        self.members.iter().position(|member| member.job.label() == label)
    }

    /// Kills one without a warning, and answers its number.
    pub(crate) fn kill(&mut self, at: usize) -> Result<u32, Failure> {
        let mut member = self.members.swap_remove(at);
        member.child.kill()?;
        member.child.wait()?;
        Ok(member.job.number)
    }

    /// Starts others in place of those that ended by themselves, and says how many these were.
    pub(crate) fn replace_the_dead(&mut self) -> Result<usize, Failure> {
        let mut died = 0;
        for at in 0..self.members.len() {
            if let Some(status) = self.members[at].child.try_wait()? {
                // An abort has no exit code; everything else was not meant to happen.
                if status.code().is_some() {
                    return Err(format!("{} ended by itself: {status}", self.members[at].job.label()).into());
                }
                self.job.number += 1;
                self.members[at] = Member::start(self.job.clone())?;
                died += 1;
            }
        }
        Ok(died)
    }

    /// Stops all in order.
    pub(crate) fn stop(&mut self) -> Result<(), Failure> {
        let mut members = std::mem::take(&mut self.members);
        members.iter_mut().for_each(Member::tell_to_stop);
        members.into_iter().try_for_each(Member::wait)
    }
}

impl Member {
    fn start(job: Job) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("instance")
            .arg(serde_json::to_string(&job)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ready = Arc::<AtomicI64>::default();
        let (answers, noted) = (child.stdout.take().ok_or("no standard output")?, ready.clone());
        std::thread::spawn(move || {
            let mut line = String::new();
            if BufReader::new(answers).read_line(&mut line).is_ok() && line.trim() == "ready" {
                noted.store(unix_micros(), Ordering::Release);
            }
        });
        Ok(Self { job, child, ready })
    }

    /// When it began to work, in microseconds, if it has.
    pub(crate) fn ready_at(&self) -> Option<i64> {
        Some(self.ready.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    /// It hands out no more, and ends when it is done with what it has.
    pub(crate) fn tell_to_stop(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits for its end; fails unless it ended well.
    pub(crate) fn wait(mut self) -> Result<(), Failure> {
        match self.child.wait()? {
            status if status.success() => Ok(()),
            status => Err(format!("{} ended with {status}", self.job.label()).into()),
        }
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
